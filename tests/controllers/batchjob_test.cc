// SPDX-License-Identifier: Apache-2.0
// BatchJobs whose applications are carried out by a stand-in for Spark's operator: from a
// Scheduling to the history of its runs.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "jobs_lab.h"
#include "kube/pod_view.h"
#include "slot_invariants.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(BatchJob, ESI_040_ReadyDoesNothing) {
  JobsLab jobs;
  jobs.spark("A");
  const auto before = jobs.get_job("A").revision();
  jobs.lab.run(1min);
  EXPECT_EQ(jobs.get_job("A").revision(), before);
  EXPECT_THAT(jobs.lab.names(kSpark), IsEmpty());
}

TEST(BatchJob, ESI_014_RunsAgainAndAgainOneAtATime) {
  JobsLab jobs;
  jobs.spark("A");
  jobs.spark("B");
  for (const char* name : {"s1", "s2", "s3"}) {
    jobs.queue(name, "ABBA");
    jobs.lab.run(10s);
    EXPECT_EQ(jobs.job_state("A"), "Running") << name;
    EXPECT_EQ(jobs.running(), "A{0,3} B{1,2}") << name;
    EXPECT_THAT(jobs.lab.names(kSpark), ElementsAre("A", "B"));
    jobs.lab.run(2min);
    EXPECT_EQ(jobs.state(name), "Completed");
    EXPECT_EQ(jobs.job_state("A"), "Completed");
    EXPECT_THAT(jobs.lab.names(kSpark), IsEmpty());
    ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", name}));
    jobs.lab.run();
    EXPECT_EQ(jobs.state(name), "gone");
    EXPECT_EQ(jobs.job_state("A"), "Ready");
  }
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s1 ok", "2 s2 ok", "3 s3 ok"));
  EXPECT_THAT(jobs.wrongs, IsEmpty());
}

TEST(BatchJob, ESI_005_ESI_047_ESI_134_TheHistoryTellsWhenAndWhere) {
  JobsLab jobs;
  jobs.spark("A");
  jobs.queue("s", "AA");
  jobs.lab.run(2min);
  const Object job = jobs.get_job("A");
  const json::Slice run = job.status()["scheduledEvents"][std::size_t{0}];
  const auto start = kube::parse_time(run["start"].text()),
             stop = kube::parse_time(run["stop"].text());
  ASSERT_TRUE(start && stop);
  EXPECT_EQ((*stop - *start) / 1s, 20) << "start-up is not counted (ESI-047)";
  EXPECT_EQ(run["testbed"].text(), "tb");
  EXPECT_EQ(run["slotIds"].raw(), "[0,1]");
  ASSERT_EQ(run["pods"].size(), 2U);
  EXPECT_EQ(run["pods"][std::size_t{0}].raw(), R"({"name":"A-exec-1","node":"n0","slot":0})");
}

TEST(BatchJob, ESI_042_ReleaseWhileItRunsTakesTheApplicationAway) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"1h")");
  jobs.queue("s", "AA");
  jobs.lab.run(20s);
  ASSERT_EQ(jobs.job_state("A"), "Running");
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run();
  EXPECT_EQ(jobs.state("s"), "gone");
  EXPECT_EQ(jobs.job_state("A"), "Ready");
  EXPECT_THAT(jobs.lab.names(kSpark), IsEmpty());
  EXPECT_THAT(jobs.executors(), IsEmpty());
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s not"));
  EXPECT_EQ(jobs.slot_states(), "FREE FREE FREE FREE FREE FREE");
}

TEST(BatchJob, ESI_048_AFailureIsTriedAgainAsOftenAsItSays) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"5s","berth.dev/exit-code":"3")",
             R"(,"retryPolicy":{"backoffLimit":2,"backoffSeconds":1})");
  jobs.queue("s", "A");
  jobs.lab.run(3min);
  const Object job = jobs.get_job("A");
  EXPECT_EQ(jobs.job_state("A"), "Failed");
  EXPECT_EQ(job.status()["attempt"].integer(), 3);
  EXPECT_EQ(jobs.condition(job, "Degraded"), "True RetriesExhausted");
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s not"));
  EXPECT_EQ(jobs.condition(jobs.get_scheduling("s"), "Progressing"), "False JobFailed");

  ASSERT_TRUE(jobs.lab.patch(kinds().batch_job, {"default", "A"},
                             R"({"metadata":{"annotations":{"berth.dev/reset":"1"}}})"));
  jobs.lab.run();
  EXPECT_THAT(jobs.job_state("A"), testing::AnyOf("Ready", "InQueue")) << "the history stays";
  EXPECT_THAT(jobs.history("A"), SizeIs(1));
}

std::map<std::string, std::string> places(JobsLab& jobs) {  // uid by slot
  std::map<std::string, std::string> all;
  for (const Object& pod : jobs.executors())
    if (const std::string slot = pod.annotation(kube::kSlotAnnotation); !slot.empty())
      all[slot] = pod.uid();
  return all;
}
std::vector<std::string> slots_of(const std::map<std::string, std::string>& places) {
  std::vector<std::string> slots;
  for (const auto& [slot, uid] : places) slots.push_back(slot);
  return slots;
}
void place_anew(JobsLab& jobs, std::string_view slots) {
  ASSERT_TRUE(jobs.lab.patch(
      kinds().scheduling, {"default", "s"},
      fmt::format(
          R"({{"spec":{{"slotBased":{{"jobs":[{{"name":{{"name":"A"}},"slotIds":[{}]}}]}}}}}})",
          slots)));
  jobs.lab.run();
}

TEST(BatchJob, ESI_133_WhatIsNotItsOwnIsSaidToBeInTheWayAndLeftAlone) {
  JobsLab jobs;
  ASSERT_TRUE(jobs.lab.create(
      R"({"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"A","namespace":"default"},"spec":{}})"));
  const std::string uid(jobs.lab.get(kSpark, {"default", "A"}).uid());
  jobs.spark("A");
  jobs.queue("s", "A");
  jobs.lab.run();
  EXPECT_EQ(jobs.condition(jobs.get_job("A"), "Ready"), "False SubmissionFailed");
  EXPECT_THAT(kube::find_condition(jobs.get_job("A").status(), "Ready")["message"].text(),
              HasSubstr("SparkApplication default/A is there already"));
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run();
  EXPECT_EQ(jobs.state("s"), "gone");
  EXPECT_EQ(jobs.lab.get(kSpark, {"default", "A"}).uid(), uid);
  jobs.queue("s", "A");
  jobs.lab.run();
  ASSERT_TRUE(jobs.lab.erase(kSpark, {"default", "A"}));
  jobs.lab.run(1min);
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
}

TEST(BatchJob, ESI_124_SparkGetsAndGivesBackExecutorsWhileItRuns) {
  JobsLab jobs;
  SlotInvariants invariants(jobs.lab);
  jobs.spark("A", R"("berth.dev/duration":"10m")", R"(,"elastic":{"maxSlots":4})");
  jobs.placed("s", "strict", {{"A", {0, 1}}});
  jobs.lab.run(20s);
  ASSERT_EQ(jobs.job_state("A"), "Running") << "it asks for four and has two";
  const auto before = places(jobs);
  ASSERT_THAT(slots_of(before), ElementsAre("0", "1"));
  place_anew(jobs, "0,1,5");  // on a node that it had no slot on
  const auto grown = places(jobs);
  EXPECT_THAT(slots_of(grown), ElementsAre("0", "1", "5"));
  for (const auto& [slot, uid] : before) EXPECT_EQ(grown.at(slot), uid) << "the others go on";
  const Object application = jobs.lab.get(kSpark, {"default", "A"});
  EXPECT_THAT(std::string(application.member("spec")["executor"]["affinity"].raw()),
              HasSubstr(R"("operator":"Exists")"));
  place_anew(jobs, "1,5");
  EXPECT_THAT(slots_of(places(jobs)), ElementsAre("1", "5"));
  EXPECT_EQ(jobs.slot_states(), "FREE OCCUPIED FREE FREE FREE OCCUPIED");
  EXPECT_EQ(jobs.get_job("A").status()["attempt"].integer(), 1);
  jobs.lab.run(11min);
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(BatchJob, ESI_124_APlainJobGivesBackAPodAndHasNotFailed) {
  for (const char* mode : {"NonIndexed", "Indexed"}) {
    SCOPED_TRACE(mode);
    std::vector<KindId> served = kinds_with_applications();
    served.push_back(kube::kJob);
    JobsLab jobs({.controllers = with_applications(),
                  .kinds = served,
                  .beside = {only({"job-controller"})}});
    jobs.lab.life = [](const Object& pod) {
      PodLife life = placed_by_the_door(pod);
      if (!pod.label(kube::kGrantLabel).empty()) life.run = 5min;
      return life;
    };
    SlotInvariants invariants(jobs.lab);
    ASSERT_TRUE(jobs.lab.create(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"A","namespace":"default"}},"spec":{{"jobSpec":{{"completionMode":"{}","template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}}})",
        mode)));
    jobs.placed("s", "strict", {{"A", {0, 1, 4}}});
    jobs.lab.run(20s);
    ASSERT_EQ(jobs.job_state("A"), "Running");
    const auto before = places(jobs);
    ASSERT_THAT(slots_of(before), ElementsAre("0", "1", "4"));
    place_anew(jobs, "1,4");
    EXPECT_THAT(slots_of(places(jobs)), ElementsAre("1", "4"));
    EXPECT_EQ(jobs.job_state("A"), "Running");
    EXPECT_FALSE(jobs.lab.get(kube::kJob, {"default", "A"}).status()["failed"].integer());
    EXPECT_EQ(jobs.slot_states(), "FREE OCCUPIED FREE FREE OCCUPIED FREE");
    jobs.lab.run(7min);
    EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
    EXPECT_THAT(invariants.wrongs(), IsEmpty());
  }
}

TEST(BatchJob, ESI_043_ESI_124_ExecutorsAreKeptToTheNodesOfTheirSlotsUnlessItMayGrow) {
  for (const char* more : {"", R"("maxSlots":3)", R"("restart":true)"}) {
    SCOPED_TRACE(more);
    std::vector<KindId> served = kinds_with_applications();
    served.push_back(kube::kJob);
    JobsLab jobs({.controllers = with_applications(),
                  .kinds = served,
                  .beside = {only({"job-controller"})}});
    ASSERT_TRUE(jobs.lab.create(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"A","namespace":"default"}},"spec":{{"elastic":{{{}}},"jobSpec":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}}})",
        more)));
    jobs.placed("s", "strict", {{"A", {0, 1}}});
    jobs.lab.run(20s);
    const auto affinity = [&] {
      return std::string(jobs.lab.get(kube::kJob, {"default", "A"})
                             .member("spec")["template"]["spec"]["affinity"]
                             .raw());
    };
    const bool may_grow = std::string_view(more).starts_with(R"("max)");
    EXPECT_THAT(affinity(), HasSubstr(may_grow ? R"("operator":"Exists")"
                                               : R"("operator":"In","values":["0","1"])"));
    place_anew(jobs, "0,1,5");
    EXPECT_EQ(jobs.job_state("A"), "Running");
    EXPECT_EQ(jobs.condition(jobs.get_job("A"), "Degraded"),
              *more == 0 ? "True ExecutorLost" : " ");
    EXPECT_EQ(jobs.get_job("A").status()["attempt"].integer(),
              std::string_view(more).starts_with(R"("restart)") ? 2 : 1);
  }
}

TEST(BatchJob, ESI_124_WhatCannotChangeItsSizeIsSubmittedAnewWhereItsUserWantsThat) {
  std::vector<KindId> served = kinds_with_applications();
  served.push_back(
      kube::learn_kind({"flinkoperator.k8s.io", "v1beta1", "FlinkCluster", "flinkclusters"}));
  JobsLab jobs({.controllers = with_applications(),
                .kinds = served,
                .beside = {only({"flinkcluster-stand-in"})}});
  SlotInvariants invariants(jobs.lab);
  ASSERT_TRUE(jobs.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"A","namespace":"default"},"spec":{"elastic":{"restart":true},"flinkClusterSpec":{"jobManager":{"podAnnotations":{"berth.dev/duration":"10m"}}}}})"));
  jobs.placed("s", "strict", {{"A", {0}}});
  jobs.lab.run(20s);
  ASSERT_EQ(jobs.job_state("A"), "Running");
  place_anew(jobs, "0,5");
  jobs.lab.run();
  EXPECT_EQ(jobs.job_state("A"), "Running");
  EXPECT_THAT(slots_of(places(jobs)), ElementsAre("0", "5"));
  EXPECT_EQ(jobs.get_job("A").status()["attempt"].integer(), 2);
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(BatchJob, ESI_133_WhereExecutorsHaveNoClassAStockSchedulersSlotsAreSaidToBeWeaklyHeld) {
  const KindId cluster =
      kube::learn_kind({"flinkoperator.k8s.io", "v1beta1", "FlinkCluster", "flinkclusters"});
  for (const Door::Way way : {Door::Way::kOwn, Door::Way::kStock}) {
    std::vector<KindId> served = kinds_with_applications();
    served.push_back(cluster);
    JobsLab jobs({.controllers = with_applications(),
                  .kinds = served,
                  .beside = {only({"flinkcluster-stand-in"})}},
                 way);
    ASSERT_TRUE(jobs.lab.create(
        R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"A","namespace":"default"},"spec":{"flinkClusterSpec":{"jobManager":{"podAnnotations":{"berth.dev/duration":"1m"}}}}})"));
    jobs.placed("s", "strict", {{"A", {0}}});
    jobs.lab.run(20s);
    ASSERT_EQ(jobs.job_state("A"), "Running");
    EXPECT_EQ(jobs.condition(jobs.get_testbed(), "Ready"),
              way == Door::Way::kOwn ? "True Held" : "True WeakHold");
    jobs.lab.run(3min);
    EXPECT_EQ(jobs.condition(jobs.get_testbed(), "Ready"), "True Held");
  }
}

void lose_node(JobsLab& jobs, const std::string& name) {
  ASSERT_TRUE(jobs.lab.erase(kube::kNode, {"", name}));
  for (const Object& pod : jobs.lab.list(kube::kPod))
    if (pod.member("spec")["nodeName"].equals(name)) {
      ASSERT_TRUE(jobs.lab.erase(kube::kPod, pod.key(), kube::Propagation::kBackground, 0));
    }
}

TEST(BatchJob, ESI_131_ALostNodesExecutorsAreTriedAgainInOtherSlots) {
  JobsLab jobs;
  SlotInvariants invariants(jobs.lab);
  jobs.spark("A", R"("berth.dev/duration":"1m")",
             R"(,"retryPolicy":{"backoffLimit":2,"backoffSeconds":5})");
  jobs.queue("s", "AAA");
  jobs.lab.run(20s);
  ASSERT_EQ(jobs.running(), "A{0,1,2}");
  lose_node(jobs, "n1");
  jobs.lab.run(2s);
  EXPECT_EQ(jobs.condition(jobs.get_job("A"), "Degraded"), "True ExecutorLost");
  jobs.lab.run(20s);
  EXPECT_EQ(jobs.running(), "A{0,2,3}");
  EXPECT_EQ(jobs.job_state("A"), "Running");
  EXPECT_EQ(jobs.get_job("A").status()["attempt"].integer(), 2);
  jobs.lab.run(3min);
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
  EXPECT_EQ(jobs.state("s"), "Completed");
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run(1min);
  EXPECT_EQ(jobs.state("s"), "gone") << "no finalizer hangs";
  EXPECT_EQ(jobs.slot_states(), "FREE FREE FREE FREE");
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(BatchJob, ESI_131_WhatWasPlacedByHandWaitsForItsNodeOrItsUser) {
  JobsLab jobs;
  SlotInvariants invariants(jobs.lab);
  jobs.spark("A", R"("berth.dev/duration":"1m")",
             R"(,"retryPolicy":{"backoffLimit":1,"backoffSeconds":1})");
  jobs.placed("s", "strict", {{"A", {0, 1}}});
  jobs.lab.run(20s);
  lose_node(jobs, "n1");
  jobs.lab.run();
  EXPECT_EQ(jobs.job_state("A"), "Retrying");
  place_anew(jobs, "0,2");
  jobs.lab.run();
  EXPECT_EQ(jobs.job_state("A"), "Running");
  EXPECT_THAT(slots_of(places(jobs)), ElementsAre("0", "2"));
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(BatchJob, ESI_046_WhoWasAwayFindsTheApplicationDone) {
  JobsLab jobs({.controllers = only({"testbed-controller", "slot-allocator-controller",
                                     "scheduling-controller", "spark-stand-in",
                                     "garbage-collector-controller"}),
                .kinds = kinds_with_applications(),
                .beside = {only({"batchjob-controller"})}});
  jobs.spark("A");
  jobs.queue("s", "AA");
  jobs.lab.run(1s);
  jobs.lab.stop(1);
  ASSERT_EQ(jobs.job_state("A"), "Submitted");
  jobs.lab.run(2min);
  EXPECT_EQ(jobs.lab.get(kSpark, {"default", "A"}).status()["applicationState"]["state"].text(),
            "COMPLETED");
  jobs.lab.crash(1);
  jobs.lab.run();
  EXPECT_EQ(jobs.job_state("A"), "Completed");
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
  EXPECT_EQ(jobs.state("s"), "Completed");
}

TEST(BatchJob, AnApplicationThatIsNotSeenYetIsNotGone) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"1min")");
  jobs.queue("s", "AA");
  jobs.lab.run(10s);
  for (int i = 0; i < 5; ++i) {
    jobs.lab.crash();
    jobs.lab.run(5s);
    EXPECT_EQ(jobs.job_state("A"), "Running") << i;
  }
  jobs.lab.run(3min);
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
}

TEST(BatchJob, ESI_120_OfThreeReplicasOneLeadsAndItsDeathLosesNothing) {
  JobsLab jobs({.controllers = with_applications(),
                .home = {.election = client::LeaderElectionOptions{.settings = {},
                                                                   .name = "berth-controllers"}},
                .kinds = kinds_with_applications(),
                .beside = {with_applications(), with_applications()}});
  SlotInvariants invariants(jobs.lab);  // 4: no attempt is submitted twice
  const std::string names = "ABCDEFGHIJ";
  for (const char name : names) jobs.spark(std::string(1, name), R"("berth.dev/duration":"5s")");
  std::vector<std::string> runs;
  const int rounds = std::getenv("BERTH_SLOTS") != nullptr ? 10 : 3;
  for (int round = 0; round < rounds; ++round) {
    const std::string scheduling = fmt::format("s{}", round);
    jobs.queue(scheduling, names);
    for (int i = 0; i < 60 && jobs.state(scheduling) != "Completed"; ++i) {
      jobs.lab.run(20s);
      for (std::size_t process = 0; process < jobs.lab.processes(); ++process)
        if (jobs.lab.leads(process)) jobs.lab.crash(process);
    }
    ASSERT_EQ(jobs.state(scheduling), "Completed");
    ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", scheduling}));
    runs.push_back(fmt::format("{} {} ok", round + 1, scheduling));
  }
  jobs.lab.run(3min);
  for (const char name : names) EXPECT_EQ(jobs.history(std::string(1, name)), runs) << name;
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  EXPECT_THAT(invariants.left_over(), IsEmpty());
}

TEST(BatchJob, ESI_133_TheApplicationsOfEveryOperatorRunInTheirSlots) {
  std::vector<KindId> served = kinds_with_applications();
  served.push_back(
      kube::learn_kind({"flink.apache.org", "v1beta1", "FlinkDeployment", "flinkdeployments"}));
  served.push_back(
      kube::learn_kind({"flinkoperator.k8s.io", "v1beta1", "FlinkCluster", "flinkclusters"}));
  JobsLab jobs({.controllers = with_applications(),
                .kinds = served,
                .beside = {only({"flink-stand-in", "flinkcluster-stand-in"})}});
  SlotInvariants invariants(jobs.lab);
  const std::pair<const char*, const char*> specs[] = {
      {"A", R"("sparkSpec":{"type":"Scala"})"},
      {"B", R"("flinkSpec":{"jarFile":"local:///a.jar","className":"a.B","args":["x"]})"},
      {"C", R"("flinkClusterSpec":{"jarFile":"/a.jar","className":"a.B"})"}};
  for (const auto& [name, spec] : specs)
    ASSERT_TRUE(jobs.lab.create(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{{}}}}})",
        name, spec)));
  jobs.queue("s", "ABCCBA");
  jobs.lab.run(15s);
  EXPECT_EQ(jobs.running(), "A{0,5} B{1,4} C{2,3}");
  for (const auto& [name, spec] : specs) EXPECT_EQ(jobs.job_state(name), "Running") << name;
  jobs.lab.run(3min);
  EXPECT_EQ(jobs.state("s"), "Completed");
  for (const auto& [name, spec] : specs)
    EXPECT_THAT(jobs.history(name), ElementsAre("1 s ok")) << name;
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run(1min);
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  EXPECT_THAT(invariants.left_over(), IsEmpty());
}

TEST(BatchJob, ESI_135_P_07_AKindThatIsAddedByAFileRunsInItsSlots) {
  std::ifstream in("examples/job-kinds/volcano.yaml");
  std::ostringstream text;
  text << in.rdbuf();
  const auto volcano = read_job_kind(text.str(), "volcano.yaml");
  ASSERT_TRUE(volcano) << volcano.error().message;
  std::vector<KindId> served = kinds_with_applications();
  served.push_back(application_kind(*volcano));
  JobsLab jobs({.controllers = only({"testbed-controller", "slot-allocator-controller",
                                     "scheduling-controller", "garbage-collector-controller"}),
                .kinds = served,
                .beside = {[&] {
                  return *make_controllers({"batchjob-controller"}, {.job_kinds = {*volcano}});
                }}});
  ASSERT_TRUE(jobs.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"A","namespace":"default"},"spec":{"application":{"kind":"volcano","spec":{"queue":"q","tasks":[{"name":"w","template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}}}})"));
  jobs.queue("s", "AA");
  jobs.lab.run(5s);
  const Object job = jobs.lab.get(application_kind(*volcano), {"default", "A"});
  ASSERT_TRUE(job.valid());
  const json::Slice task = job.member("spec")["tasks"][std::size_t{0}];
  EXPECT_EQ(task["name"].text(), "w");
  EXPECT_EQ(task["replicas"].integer(), 2);
  EXPECT_EQ(job.member("spec")["queue"].text(), "q");
  // What Volcano would do.
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(jobs.lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"A-w-{}","namespace":"default","labels":{},"annotations":{},"ownerReferences":[{}]}},"spec":{}}})",
        i, task["template"]["metadata"]["labels"].raw(),
        task["template"]["metadata"]["annotations"].raw(), controller_ref(job),
        task["template"]["spec"].raw())));
  const auto phase = [&](std::string_view name) {
    ASSERT_TRUE(jobs.lab.patch(job.kind(), job.key(),
                               fmt::format(R"({{"status":{{"state":{{"phase":"{}"}}}}}})", name),
                               "status"));
    jobs.lab.run();
  };
  phase("Running");
  EXPECT_EQ(jobs.job_state("A"), "Running");
  EXPECT_EQ(jobs.slot_states(), "OCCUPIED OCCUPIED FREE FREE FREE FREE");
  phase("Completed");
  EXPECT_THAT(jobs.history("A"), ElementsAre("1 s ok"));
  EXPECT_EQ(jobs.state("s"), "Completed");
}

TEST(BatchJob, ARunEndsAsWhatItBeganAs) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"1h")");
  jobs.queue("s", "A");
  jobs.lab.run(10s);
  ASSERT_TRUE(jobs.lab.patch(kinds().batch_job, {"default", "A"},
                             R"({"spec":{"sparkSpec":null,"jobSpec":{}}})"));
  jobs.lab.run(10s);
  EXPECT_EQ(jobs.job_state("A"), "Running");
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run();
  EXPECT_THAT(jobs.lab.names(kSpark), IsEmpty());
  EXPECT_EQ(jobs.job_state("A"), "Ready");
}

TEST(BatchJob, ESI_136_AJobRunsBesideItselfByATemplate) {
  JobsLab jobs;
  jobs.spark("A");
  ASSERT_TRUE(jobs.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"B","namespace":"default"},"spec":{"template":{"name":"A"}}})"));
  jobs.queue("s", "AB");
  jobs.lab.run(10s);
  EXPECT_EQ(jobs.running(), "A{0} B{1}");
  EXPECT_EQ(jobs.lab.get(kSpark, {"default", "B"}).member("spec")["driver"].raw(),
            jobs.lab.get(kSpark, {"default", "A"}).member("spec")["driver"].raw());
  jobs.lab.run(1min);
  EXPECT_THAT(jobs.history("B"), ElementsAre("1 s ok"));

  ASSERT_TRUE(jobs.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"C","namespace":"default"},"spec":{"template":{"name":"none"}}})"));
  ASSERT_TRUE(jobs.lab.erase(kinds().scheduling, {"default", "s"}));
  jobs.lab.run();
  jobs.queue("t", "C");
  jobs.lab.run(20s);
  EXPECT_EQ(jobs.condition(jobs.get_job("C"), "Ready"), "False KindUnknown");
}

TEST(BatchJob, WhatSomebodyElseDeletesIsAFailure) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"1h")");
  jobs.queue("s", "A");
  jobs.lab.run(20s);
  ASSERT_TRUE(jobs.lab.erase(kSpark, {"default", "A"}));
  jobs.lab.run();
  EXPECT_EQ(jobs.job_state("A"), "Failed");
  EXPECT_THAT(
      std::string(kube::find_condition(jobs.get_job("A").status(), "Degraded")["message"].text()),
      HasSubstr("somebody else"));
}

TEST(BatchJob, ADeletedJobEndsItsRunFirst) {
  JobsLab jobs;
  jobs.spark("A", R"("berth.dev/duration":"1h")");
  jobs.queue("s", "AA");
  jobs.lab.run(20s);
  ASSERT_TRUE(jobs.lab.erase(kinds().batch_job, {"default", "A"}));
  jobs.lab.run(1min);
  EXPECT_FALSE(jobs.get_job("A").valid());
  EXPECT_THAT(jobs.lab.names(kSpark), IsEmpty());
  EXPECT_EQ(jobs.running(), "");
}

TEST(BatchJob, ESI_004_AnOrderByHandIsCarriedOut) {
  JobsLab jobs;
  jobs.spark("A");
  ASSERT_TRUE(jobs.lab.patch(
      kinds().batch_job, {"default", "A"},
      R"({"spec":{"activeScheduling":{"name":"me"},"creationRequest":{"slotIds":[1,4],"testbedName":{"name":"tb"},"replication":2}}})"));
  jobs.lab.run(10s);
  EXPECT_EQ(jobs.running(), "A{1,4}");
  EXPECT_THAT(jobs.executors(), SizeIs(2));
  jobs.lab.run(1min);
  EXPECT_EQ(jobs.job_state("A"), "Completed");
  EXPECT_FALSE(jobs.get_job("A").member("spec")["creationRequest"].present());
  EXPECT_EQ(jobs.running(), "");
}

}  // namespace
}  // namespace berth::controllers::stories
