// SPDX-License-Identifier: Apache-2.0
// The crash sweep over stories of slots: the controllers die at each of their writes, before it,
// with its answer lost, and after it; or they stall, and the write comes when others have gone on.
// Names and times differ with the place; what must hold is
// asked after every write and at the end.
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "jobs_lab.h"
#include "slot_invariants.h"

namespace berth::controllers::stories {
namespace {

using testing::IsEmpty;

const KindId kFlink =
    kube::learn_kind({"flink.apache.org", "v1beta1", "FlinkDeployment", "flinkdeployments"});

LabOptions sweep_options(KillAt kill) {
  std::vector<KindId> kinds = kinds_with_applications();
  kinds.push_back(kFlink);
  kinds.push_back(kube::kJob);
  return {.controllers = only({"testbed-controller", "slot-allocator-controller",
                               "scheduling-controller", "batchjob-controller", "spark-stand-in",
                               "flink-stand-in", "job-controller", "garbage-collector-controller"}),
          .kill = kill,
          .kinds = std::move(kinds)};
}

std::string object(std::string_view kind, std::string_view name, std::string_view spec) {
  return fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"{}","metadata":{{"name":"{}","namespace":"default"}},"spec":{{{}}}}})",
      kind, name, spec);
}
void job(Lab& lab, std::string_view name, std::string_view length) {
  ASSERT_TRUE(lab.create(object(
      "BatchJob", name,
      fmt::format(R"("sparkSpec":{{"driver":{{"annotations":{{"berth.dev/duration":"{}"}}}}}})",
                  length))));
}
void wait_for_completion(Lab& lab) {
  const auto completed = [&] {
    return kube::SchedulingView(lab.get(kinds().scheduling, {"default", "s"})).completed();
  };
  for (int i = 0; i < 60 && !completed(); ++i) lab.run(30s);
  EXPECT_TRUE(completed());
}
void begin(Lab& lab, std::string_view spec) {
  job(lab, "a", "20s");
  job(lab, "b", "20s");
  ASSERT_TRUE(
      lab.create(object("Scheduling", "s", fmt::format(R"("testbed":{{"name":"tb"}},{})", spec))));
}
constexpr std::string_view kQueue = R"("queueBased":[{"name":"a"},{"name":"b"},{"name":"a"}])";

void to_the_end(Lab& lab) {
  begin(lab, kQueue);
  wait_for_completion(lab);
  for (const char* name : {"a", "b"}) {
    const Object one = lab.get(kinds().batch_job, {"default", name});
    EXPECT_EQ(one.status()["closedRun"].integer(), 1) << name;
    EXPECT_TRUE(one.status()["scheduledEvents"][std::size_t{0}]["successful"].boolean()) << name;
  }
}
void deleted_while_it_runs(Lab& lab) {
  begin(lab, kQueue);
  lab.run(8s);
}
void a_node_is_lost(Lab& lab) {
  begin(lab, kQueue);
  lab.run(8s);
  for (const char* ready : {"Unknown", "True"}) {
    ASSERT_TRUE(lab.patch(
        kube::kNode, {"", "n1"},
        fmt::format(R"({{"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})", ready),
        "status"));
    lab.run(10s);
  }
  wait_for_completion(lab);
}
void the_testbed_shrinks_and_grows(Lab& lab) {
  begin(
      lab,
      R"("slotBased":{"jobs":[{"name":{"name":"a"},"slotIds":[0,5]},{"name":{"name":"b"},"slotIds":[1]}]})");
  lab.run(8s);
  for (const int slots : {1, 2}) {
    ASSERT_TRUE(lab.patch(kinds().testbed, {"default", "tb"},
                          fmt::format(R"({{"spec":{{"slotsPerNode":{}}}}})", slots)));
    lab.run(5s);
  }
  wait_for_completion(lab);
}
void come_and_go(Lab& lab, std::string_view application) {
  const auto placed = [](std::string_view slots) {
    return fmt::format(R"("slotBased":{{"jobs":[{{"name":{{"name":"f"}},"slotIds":[{}]}}]}})",
                       slots);
  };
  ASSERT_TRUE(lab.create(object("BatchJob", "f", application)));
  begin(lab, placed("0,1"));
  lab.run(15s);
  for (const char* slots : {"0,1,4", "1,4"}) {
    ASSERT_TRUE(lab.patch(kinds().scheduling, {"default", "s"},
                          fmt::format(R"({{"spec":{{{}}}}})", placed(slots))));
    lab.run(30s);
    std::set<int> in;
    const Object f = lab.get(kinds().batch_job, {"default", "f"});
    for (const Object& pod : lab.list(kube::kPod)) {
      const auto fact = slots::pod_fact(pod);
      if (!fact || fact->grant.empty()) continue;
      if (fact->slot) in.insert(*fact->slot);
      for (const kube::Pin& pin : kube::BatchJobView(f).pins())
        if (pin.pod_uid == fact->uid) in.insert(pin.slot);
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(in, ",")), slots);
  }
  wait_for_completion(lab);
  const Object f = lab.get(kinds().batch_job, {"default", "f"});
  EXPECT_TRUE(f.status()["scheduledEvents"][std::size_t{0}]["successful"].boolean());
}
void executors_come_and_go(Lab& lab) {
  come_and_go(
      lab,
      R"("flinkSpec":{"jobManager":{"podTemplate":{"metadata":{"annotations":{"berth.dev/duration":"2m"}}}}})");
}
void pods_of_a_job_come_and_go(Lab& lab) {
  lab.life = [](const Object& pod) {
    PodLife life = placed_by_the_door(pod);
    if (!pod.label(kube::kGrantLabel).empty()) life.run = 2min;
    return life;
  };
  come_and_go(lab, R"("jobSpec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})");
}

struct Story {
  const char* name;
  void (*play)(Lab&);
  Door::Way way = Door::Way::kOwn;
};
// Answers with how many writes there were.
std::uint64_t played(const Story& story, KillAt kill) {
  Lab lab(sweep_options(kill));
  SlotInvariants invariants(lab);
  if (kill.moment == Moment::kStalled) invariants.allow_late_applications();
  Door door(lab, Door::Fault::kNone, story.way);
  lab.life = &placed_by_the_door;
  for (int i = 0; i < 3; ++i) labelled_node(lab, fmt::format("n{}", i), std::to_string(i));
  EXPECT_TRUE(lab.create(object(
      "Testbed", "tb",
      R"("slotsPerNode":2,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"750m","memory":"6Gi"})")));
  lab.run(30s);  // also to get over a death
  story.play(lab);
  EXPECT_TRUE(lab.erase(kinds().scheduling, {"default", "s"}));
  lab.run(3min);
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  EXPECT_THAT(invariants.left_over(), IsEmpty());
  EXPECT_EQ(lab.starts(), kill.write == 0 ? 1 : 2);
  return lab.writes();
}

class SlotsCrashSweep : public testing::TestWithParam<Story> {};

TEST_P(SlotsCrashSweep, EndsWellWhereverTheControllersDie) {
  const std::uint64_t writes = played(GetParam(), {});
  ASSERT_GT(writes, 20U);
  const bool all = std::getenv("BERTH_SWEEP") != nullptr;
  for (std::uint64_t write = 1; write <= writes; write += all ? 1 : writes / 5)
    for (const Moment moment :
         {Moment::kBefore, Moment::kCommitted, Moment::kAnswered, Moment::kStalled}) {
      SCOPED_TRACE(
          fmt::format("write {} of {}, moment {}", write, writes, static_cast<int>(moment)));
      played(GetParam(), {write, moment});
      if (HasFailure()) return;
    }
}
INSTANTIATE_TEST_SUITE_P(
    Stories, SlotsCrashSweep,
    testing::Values(Story{"ToTheEnd", &to_the_end},
                    Story{"ToTheEndBesideAStockScheduler", &to_the_end, Door::Way::kStock},
                    Story{"DeletedWhileItRuns", &deleted_while_it_runs},
                    Story{"ANodeIsLost", &a_node_is_lost},
                    Story{"TheTestbedShrinksAndGrows", &the_testbed_shrinks_and_grows},
                    Story{"ESI_124_ExecutorsComeAndGo", &executors_come_and_go},
                    Story{"ESI_124_ExecutorsComeAndGoBesideAStockScheduler", &executors_come_and_go,
                          Door::Way::kStock},
                    Story{"ESI_124_PodsOfAJobComeAndGo", &pods_of_a_job_come_and_go}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace berth::controllers::stories
