// SPDX-License-Identifier: Apache-2.0
// The crash sweep over the life of ScavengerJobs: the operator and the Job controller die at each
// of their writes, before it, with its answer lost, and after it. Times differ with the place; what
// must hold is asked after every write and at the end. And faults that are planted are found.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/scavenger/queue.h"
#include "controllers/scavenger/scavenger_run.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::IsEmpty;
using testing::Not;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

void until(ScavengerLab& s, const std::string& name, std::string_view phase) {
  for (int i = 0; i < 60 && s.phase(name) != phase; ++i) s.lab.run(10s);
  EXPECT_EQ(s.phase(name), phase) << name << ": " << s.message(name);
}
Object some_pod(ScavengerLab& s, const std::string& name) {
  const auto pods = s.pods(name);
  EXPECT_THAT(pods, Not(IsEmpty())) << name;
  return pods.empty() ? Object() : pods.front();
}

// Start, interrupt, reclaim, complete.
void play(ScavengerLab& s) {
  s.job("a", "1", R"("replicas":2)");
  s.job("b", "2");
  s.job("c", "2");
  for (const char* name : {"a", "b", "c"}) until(s, name, "Running");
  if (const Object pod = some_pod(s, "a"); pod.valid()) s.erase_pod(pod);
  if (const Object pod = some_pod(s, "b"); pod.valid()) s.disrupt(pod, "PreemptionByScheduler");
  s.pod("needs", "9");
  s.lab.run(2s);
  const Object needs = s.lab.get(kube::kPod, {"default", "needs"});
  ASSERT_TRUE(s.lab.patch(
      kinds().job, {"default", "c"},
      fmt::format(
          R"({{"metadata":{{"annotations":{{"{}":"{{\"for\":\"default/needs\",\"uid\":\"{}\",\"deadline\":\"{}\"}}"}}}}}})",
          kube::kReclaimAnnotation, needs.uid(), kube::time_text(s.now() + 20s))));
  s.lab.run(1min);
  if (s.lab.get(kube::kPod, {"default", "needs"}).valid()) {
    ASSERT_TRUE(s.lab.erase(kube::kPod, {"default", "needs"}));
  }
  s.lab.run(5min);
  for (const char* name : {"a", "b", "c"}) {
    until(s, name, "Running");
    for (const Object& pod : s.pods(name)) s.end(pod, 0);
  }
  for (const char* name : {"a", "b", "c"}) until(s, name, "Completed");
  s.lab.run(1min);
  EXPECT_EQ(s.count("a"), 1);
  EXPECT_EQ(s.count("b"), 1);
  EXPECT_LE(s.count("c"), 1);
}

TEST(ScavengerCrashSweep, EveryWriteMayBeTheLast) {
  std::uint64_t writes = 0;
  {
    ScavengerLab s;
    play(s);
    writes = s.lab.writes();
    EXPECT_THAT(s.wrongs, IsEmpty());
    EXPECT_THAT(s.left_over(), IsEmpty());
  }
  ASSERT_GT(writes, 50U);
  const char* mode = std::getenv("BERTH_SWEEP");
  const bool all = mode != nullptr && std::string_view(mode) == "all";
  Random draw(std::getenv("BERTH_SEED") != nullptr ? std::stoull(std::getenv("BERTH_SEED")) : 1);
  for (std::uint64_t write = 1; write <= writes; ++write)
    for (const Moment moment : {Moment::kBefore, Moment::kCommitted, Moment::kAnswered}) {
      if (!all && draw.below(10) != 0) continue;
      SCOPED_TRACE(fmt::format("killed at write {} of {}, moment {}", write, writes,
                               static_cast<int>(moment)));
      ScavengerLab s({.kill = {write, moment}});
      play(s);
      EXPECT_THAT(s.wrongs, IsEmpty());
      EXPECT_THAT(s.left_over(), IsEmpty());
      if (testing::Test::HasFailure()) return;
    }
}

Controllers operator_with(ScavengerFault fault, QueueFault queue) {
  return [fault, queue] {
    std::vector<std::unique_ptr<runtime::Controller>> all;
    all.push_back(make_scavenger_controller({.fault = fault}));
    QueueOptions options{.fault = queue};
    options.plant = [](runtime::Plan& plan, const kube::ScavengerJobView& job) {
      plan.create(
          kube::kJob,
          {std::string(job.object().ns()), attempt_name(job.object().name(), job.attempt() + 1)},
          job_json(job, {}, {.attempt = job.attempt() + 1}));
    };
    all.push_back(make_scavenger_queue_controller(std::move(options)));
    return all;
  };
}
// A short story in which members are lost.
std::vector<std::string> wrongs_with(ScavengerFault fault, QueueFault queue) {
  ScavengerLab s({.controllers = operator_with(fault, queue)});
  s.job("a", "1", R"("replicas":3)");
  s.job("b", "1");
  s.lab.run(1min);
  for (const char* name : {"a", "b"})
    for (const Object& pod : s.pods(name)) s.erase_pod(pod);
  s.lab.run(3min);
  return s.wrongs;
}

TEST(ScavengerPlantedFaults, AreFound) {
  EXPECT_THAT(wrongs_with(ScavengerFault::kNone, QueueFault::kNone), IsEmpty());
  EXPECT_THAT(wrongs_with(ScavengerFault::kNone, QueueFault::kAttemptAfterJob), Not(IsEmpty()));
  EXPECT_THAT(wrongs_with(ScavengerFault::kVerdictAfterEvidence, QueueFault::kNone),
              Not(IsEmpty()));
  EXPECT_THAT(wrongs_with(ScavengerFault::kCountPerPod, QueueFault::kNone), Not(IsEmpty()));
}

}  // namespace
}  // namespace berth::controllers::stories
