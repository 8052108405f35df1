// SPDX-License-Identifier: Apache-2.0
// The rows of the external-scheduler interface that need no application's operator, on the real
// kube-apiserver and once for each door to slots: Berth's scheduler with the plugin, and the stock
// kube-scheduler with the extender, in each of the ways to tell it of the extender. Jobs are plain
// ones, carried out by kube-controller-manager.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "slots_rows.h"

namespace berth::e2e {
namespace {

using kube::Object;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string name_of_door(const testing::TestParamInfo<SlotsDoor>& info) {
  return info.param == SlotsDoor::kPlugin ? "OurScheduler" : "StockScheduler";
}
INSTANTIATE_TEST_SUITE_P(Plugin, RealSlots, testing::Values(SlotsDoor::kPlugin), name_of_door);
INSTANTIATE_TEST_SUITE_P(Extender, RealSlots, testing::Values(SlotsDoor::kExtender), name_of_door);
INSTANTIATE_TEST_SUITE_P(Managed, RealSlots, testing::Values(SlotsDoor::kManagedResource),
                         name_of_door);
INSTANTIATE_TEST_SUITE_P(Second, RealSlots, testing::Values(SlotsDoor::kSecondScheduler),
                         name_of_door);

std::vector<std::string> apply_listings(SlotsStage& stage) {
  const auto file = [](const std::string& name) {
    return std::string(BERTH_SOURCE_DIR) + "/examples/thesis/" + name + ".yaml";
  };
  std::vector<std::string> said;
  for (const char* name :
       {"listing-4.1-batch-job", "listing-4.2-testbed", "listing-4.3-scheduling"})
    said.push_back(stage.kubectl({"apply", "--validate=strict", "-f", file(name)}));
  return said;
}

TEST_P(RealSlots, ESI_001_ESI_003_ESI_011_TheListingsApplyAndAreListedByTheirShortNames) {
  EXPECT_THAT(apply_listings(stage()),
              ElementsAre("batchjob.batchjob.gcr.io/spark-crawler created\n",
                          "testbed.batchjob.gcr.io/profiler-testbed created\n",
                          "scheduling.batchjob.gcr.io/profiler-scheduling-0 created\n"));
  const std::string listed = stage().kubectl({"get", "bj,tb,sched"});
  EXPECT_THAT(listed, HasSubstr("STATE"));
  EXPECT_THAT(listed, HasSubstr("spark-crawler"));
  const Object job = stage().get(slot_kinds().batch_job, "spark-crawler");
  EXPECT_EQ(job.member("spec")["externalScheduler"]["profiler"][std::size_t{0}]["spark-pi"].text(),
            "27 (16)");
}

TEST_P(RealSlots, ESI_002_ESI_012_WhatIsNoJobOrSchedulingIsRefused) {
  const auto refused = [&](std::string_view kind, std::string_view spec) {
    const auto made = stage().admin().create(
        kind == "BatchJob" ? slot_kinds().batch_job : slot_kinds().scheduling, "default",
        fmt::format(
            R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"{}","metadata":{{"name":"x","namespace":"default"}},"spec":{{{}}}}})",
            kind, spec));
    return !made && made.error().reason == Reason::kInvalid;
  };
  EXPECT_TRUE(refused("BatchJob", R"("sparkSpec":{},"flinkSpec":{})"));
  EXPECT_TRUE(refused("BatchJob", ""));
  EXPECT_TRUE(refused("Scheduling", R"("queueBased":[{"name":"a"}])"));
  EXPECT_TRUE(
      refused("Scheduling",
              R"("testbed":{"name":"tb"},"queueBased":[{"name":"a"}],"slotBased":{"jobs":[]})"));
  hold();
  stage().job("a");
  stage().placed("s", "strict", {{"a", {9}}});
  stage().until("slot 9 is named", [&] {
    return stage().condition(slot_kinds().scheduling, "s", "Progressing") == "False InvalidSlot";
  });
}

TEST_P(RealSlots, ESI_006_ESI_007_ESI_009_ESI_010_ESI_020_ESI_132_ATestbedHoldsItsSlots) {
  hold();
  stage().kubectl({"wait", "--timeout=60s", "--for=condition=Ready", "testbed/tb"});
  const Object testbed = stage().get(slot_kinds().testbed, "tb");
  EXPECT_EQ(testbed.status()["state"].text(), "SUCCESS");
  std::vector<std::string> slots;
  for (const json::Slice slot : testbed.status()["slots"].elements())
    slots.push_back(fmt::format("{} {} {}.{}", *slot["position"].integer(), slot["nodeName"].text(),
                                *slot["nodeId"].integer(), *slot["slotPositionOnNode"].integer()));
  EXPECT_THAT(slots, ElementsAre("0 node-0 0.0", "1 node-1 1.0", "2 node-2 2.0", "3 node-0 0.1",
                                 "4 node-1 1.1", "5 node-2 2.1"));
  const std::vector<Object> ghosts = stage().ghosts();
  ASSERT_THAT(ghosts, SizeIs(6));
  for (const Object& ghost : ghosts) {
    EXPECT_EQ(ghost.member("spec")["priority"].integer(), kube::kGhostPriority);
    EXPECT_EQ(ghost.controller()->name, "tb");
  }
}

TEST_P(RealSlots, ESI_021_ESI_026_ADeletedGhostComesBackAlone) {
  hold();
  std::map<std::string, std::string> before, after;
  for (const Object& ghost : stage().ghosts()) before[std::string(ghost.name())] = ghost.uid();
  stage().erase(kube::kPod, "ghostpod-tb-on-node-1-1");
  stage().until("six ghosts again", [&] {
    after.clear();
    for (const Object& ghost : stage().ghosts()) after[std::string(ghost.name())] = ghost.uid();
    return after.size() == 6 &&
           after["ghostpod-tb-on-node-1-1"] != before["ghostpod-tb-on-node-1-1"];
  });
  before.erase("ghostpod-tb-on-node-1-1");
  after.erase("ghostpod-tb-on-node-1-1");
  EXPECT_EQ(before, after);
}

TEST_P(RealSlots, ESI_022_ESI_023_ESI_024_ItFollowsLabelsAndSizes) {
  hold();
  stage().patch(kube::kNode, "node-2", R"({"metadata":{"labels":{"tuberlin.de/tb":null}}})");
  stage().until("four slots", [&] { return stage().ghosts().size() == 4; });
  stage().patch(kube::kNode, "node-2", R"({"metadata":{"labels":{"tuberlin.de/tb":"2"}}})");
  stage().until("six slots", [&] { return stage().slot_states() == kAllFree; });
  stage().patch(slot_kinds().testbed, "tb", R"({"spec":{"resourcesPerSlot":{"cpu":"500m"}}})");
  stage().until("smaller ghosts", [&] {
    std::size_t small = 0;
    for (const Object& ghost : stage().ghosts())
      small +=
          ghost.member("spec")["containers"][std::size_t{0}]["resources"]["requests"]["cpu"].equals(
              "500m")
              ? 1
              : 0;
    return small == 6;
  });
  stage().patch(slot_kinds().testbed, "tb", R"({"spec":{"resourcesPerSlot":{"cpu":"3"}}})");
  stage().until("no room is said", [&] {
    return stage().condition(slot_kinds().testbed, "tb", "Ready") == "False NoRoom";
  });
  EXPECT_THAT(stage()
                  .get(slot_kinds().testbed, "tb")
                  .status()["nodeProblems"]["node-0"][std::size_t{0}]
                  .text(),
              HasSubstr("cpu"));
}

TEST_P(RealSlots, ESI_005_ESI_014_ESI_025_ESI_042_ESI_083_ESI_089_AQueueRunsAgainAndAgain) {
  hold();
  stage().job("a");
  stage().job("b");
  for (const char* name : {"s1", "s2"}) {
    stage().queue(name, "abba");
    same_by_both_doors(stage().placement_of(4));
    until_running("a{0,3} b{1,2}");
    stage().until("slots are occupied", [&] {
      return stage().slot_states() == "OCCUPIED OCCUPIED OCCUPIED OCCUPIED FREE FREE";
    });
    stage().until("a runs", [&] { return stage().job_state("a") == "Running"; });
    stage().finish("a");
    stage().finish("b");
    until_state(name, "Completed");
    stage().kubectl(
        {"wait", "--timeout=60s", "--for=condition=Complete", fmt::format("scheduling/{}", name)});
    EXPECT_EQ(
        stage().get(slot_kinds().batch_job, "a").member("spec")["activeScheduling"]["name"].text(),
        name);
    stage().erase(slot_kinds().scheduling, name);
    until_state(name, "gone");
    stage().until("a is ready", [&] { return stage().job_state("a") == "Ready"; });
    stage().until("slots are free", [&] { return stage().slot_states() == kAllFree; });
  }
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s1 ok", "2 s2 ok"));
  // Released while it runs.
  stage().queue("s3", "a");
  stage().placement_of(1);
  stage().erase(slot_kinds().scheduling, "s3");
  until_state("s3", "gone");
  stage().until("a is ready",
                [&] { return stage().job_state("a") == "Ready" && stage().executors().empty(); });
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s1 ok", "2 s2 ok", "3 s3 not"));
}

TEST_P(RealSlots, ESI_004_AnOrderByHandIsCarriedOut) {
  hold();
  stage().job("a");
  stage().patch(
      slot_kinds().batch_job, "a",
      R"({"spec":{"activeScheduling":{"name":"me","namespace":"default"},"creationRequest":{"slotIds":[1,4],"testbedName":{"name":"tb","namespace":"default"},"replication":2}}})");
  const auto placed = stage().placement_of(2);
  EXPECT_THAT(placed, ElementsAre("a: slot 1 on node-1", "a: slot 4 on node-1"));
  same_by_both_doors(placed);
  stage().patch(slot_kinds().batch_job, "a", R"({"spec":{"activeScheduling":null}})");
  stage().until("its pods are gone", [&] { return stage().executors().empty(); });
  stage().until("slots are free", [&] { return stage().slot_states() == kAllFree; });
}

TEST_P(RealSlots,
       P_06_ESI_061_ESI_062_ESI_063_ESI_064_ESI_065_OnFullNodesTheGhostsMakeRoomAndNobodyElse) {
  hold();
  fill();
  stage().job("a");
  stage().queue("s", "aaaa");
  const auto placed = stage().placement_of(4);
  EXPECT_THAT(placed, ElementsAre("a: slot 0 on node-0", "a: slot 1 on node-1",
                                  "a: slot 2 on node-2", "a: slot 3 on node-0"));
  same_by_both_doors(placed);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(stage().get(kube::kPod, fmt::format("fill-{}", i)).deleting()) << i;
  stage().until("two ghosts are left", [&] { return stage().ghosts(false).size() == 2; });
  stage().until("pods say which slot they have", [&] {
    std::set<std::string> seen;
    for (const Object& pod : stage().executors())
      seen.insert(pod.label(kube::kTargetNodeLabel) + " " + pod.label(kube::kSlotIdLabel));
    return seen == std::set<std::string>{"node-0 0", "node-0 1", "node-1 0", "node-2 0"};
  });
}

TEST_P(RealSlots, ESI_027_ESI_030_ForeignPodsDoNotKeepJobsFromTheirSlots) {
  if (GetParam() == SlotsDoor::kSecondScheduler)
    GTEST_SKIP()
        << "the first scheduler sees no nominations of the second and takes the room that "
           "ghosts left; its pods are evicted within a second, but kube-scheduler may then "
           "not try the executors again, though one fits, until its 5 min flush";
  hold();
  for (int i = 0; i < 20; ++i) stage().pod(fmt::format("foreign-{}", i), "700m");
  stage().job("a");
  stage().queue("s", "aaaaaa");
  same_by_both_doors(stage().placement_of(6));
  stage().until("no ghost is beside an executor", [&] { return stage().ghosts(false).empty(); });
  std::map<std::string, int> foreign;
  for (const Object& pod : stage().pods())
    if (pod.name().starts_with("foreign-")) ++foreign[pod.member("spec")["nodeName"].text()];
  foreign.erase("");
  for (const auto& [node, count] : foreign)
    EXPECT_LE(count, 3) << node << ": 2.5 cores are no slot's";
}

TEST_P(RealSlots, ESI_066_ESI_067_ESI_068_APodWithoutASlotWaitsAndOthersAreLeftAlone) {
  hold();
  EXPECT_EQ(stage().get(kube::kPod, "ghostpod-tb-on-node-0-0").member("spec")["priority"].integer(),
            kube::kGhostPriority);
  stage().job("a", "");
  stage().patch(slot_kinds().batch_job, "a", R"({"spec":{"jobSpec":{"suspend":true}}})");
  stage().queue("s", "a");
  stage().executor("first", "a");
  stage().placement_of(1);
  stage().executor("second", "a");
  stage().until("it is told why",
                [&] { return !stage().events_of("second", "NoFreeSlot").empty(); });
  EXPECT_THAT(stage().events_of("second", "NoFreeSlot"), Contains(HasSubstr("slot 0 on node-0: ")));
  stage().pod("ordinary", "1");
  stage().until("others are placed", [&] {
    return !stage().get(kube::kPod, "ordinary").member("spec")["nodeName"].text().empty();
  });
  stage().erase(kube::kPod, "first");
  stage().until("its turn has come", [&] {
    return stage().get(kube::kPod, "second").member("spec")["nodeName"].equals("node-0");
  });
}

TEST_P(RealSlots, ESI_069_ARestartedSchedulerLeavesSlotsToThoseWhoHaveThem) {
  hold();
  stage().job("a");
  stage().job("b");
  stage().queue("s", "aabb");
  const auto before = stage().placement_of(4);
  same_by_both_doors(before);
  stage().restart_scheduler();
  stage().finish("b");
  stage().until("b has ended", [&] { return stage().history("b").size() == 1; });
  for (const std::string& each : stage().placement_of(2)) EXPECT_EQ(before.count(each), 1u) << each;
}

TEST_P(RealSlots, ESI_041_ESI_080_ESI_081_ESI_082_WhoComesFirstIsServedFirst) {
  hold();
  stage().job("a");
  stage().job("b");
  stage().queue("s1", "ab");
  stage().placement_of(2);
  stage().queue("s2", "ba");
  stage().until("s2 waits and holds nothing", [&] {
    return stage().condition(slot_kinds().scheduling, "s2", "Acquired").starts_with("False ");
  });
  EXPECT_EQ(stage().state("s2"), "Acquire");
  for (const char* job : {"a", "b"})
    EXPECT_EQ(
        stage().get(slot_kinds().batch_job, job).member("spec")["activeScheduling"]["name"].text(),
        "s1");
  stage().finish("a");
  stage().finish("b");
  until_state("s1", "Completed");
  stage().erase(slot_kinds().scheduling, "s1");
  same_by_both_doors(stage().placement_of(2));
  stage().finish("a");
  stage().finish("b");
  until_state("s2", "Completed");
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s1 ok", "2 s2 ok"));
}

TEST_P(RealSlots, ESI_084_ESI_085_ESI_126_WhatDoesNotFitWaits) {
  hold(kShared);
  for (const char* job : {"a", "b", "c", "x", "y"}) stage().job(job);
  stage().placed("one", "strict", {{"x", {0}}, {"y", {1, 2, 3}}});
  stage().placement_of(4);
  stage().queue("two", "aba");
  stage().until("it waits for a third slot", [&] {
    return stage().condition(slot_kinds().scheduling, "two", "Progressing") ==
           "False WaitingForCapacity";
  });
  EXPECT_EQ(stage().running(), "x{0} y{1,2,3}");
  stage().finish("x");  // one slot, and no other, makes them three
  until_running("a{0,5} b{4} y{1,2,3}");
  same_by_both_doors(stage().placement_of(6));
  stage().finish("y");
  stage().erase(slot_kinds().scheduling, "two");
  until_state("two", "gone");
  stage().placed("three", "relaxed", {{"a", {0, 1}}, {"b", {0, 1}}, {"c", {4}}});
  until_running("a{0,1} c{4}");
}

TEST_P(RealSlots, ESI_087_ESI_123_TheQueueMayBeChangedWhileItRuns) {
  hold();
  for (const char* job : {"a", "b", "c"}) stage().job(job);
  stage().queue("s", "aaaaab");
  stage().placement_of(6);
  const auto names = [](std::string_view jobs) {
    std::string all;
    for (const char each : jobs)
      all +=
          fmt::format(R"({}{{"name":"{}","namespace":"default"}})", all.empty() ? "" : ",", each);
    return fmt::format(R"({{"spec":{{"queueBased":[{}]}}}})", all);
  };
  stage().patch(slot_kinds().scheduling, "s", names("aaaaabc"));
  stage().until("c is claimed", [&] {
    return stage()
        .get(slot_kinds().batch_job, "c")
        .member("spec")["activeScheduling"]["name"]
        .equals("s");
  });
  stage().finish("b");
  until_running("a{0,1,2,3,4} c{5}");
  stage().finish("a");
  stage().finish("c");
  until_state("s", "Completed");
}

TEST_P(RealSlots, ESI_088_ESI_090_ESI_091_ESI_092_WhatIsMissingIsSaidAndDeletionGivesBack) {
  hold();
  stage().job("a");
  stage().queue("s", "ab");
  stage().until("b is missed", [&] {
    return stage().condition(slot_kinds().scheduling, "s", "Progressing") == "False JobNotFound";
  });
  stage().job("b");
  same_by_both_doors(stage().placement_of(2));
  EXPECT_FALSE(stage().get(slot_kinds().scheduling, "s").status()["acquiredTime"].text().empty());
  stage().until("events tell it", [&] { return !stage().events_of("s", "Submitted").empty(); });
  stage().erase(slot_kinds().scheduling, "s");
  until_state("s", "gone");
  for (const char* job : {"a", "b"})
    EXPECT_FALSE(
        stage().get(slot_kinds().batch_job, job).member("spec")["activeScheduling"].present())
        << job;
  stage().until("slots are free", [&] { return stage().slot_states() == kAllFree; });
}

TEST_P(RealSlots, ESI_124_ExecutorsComeAndGoWhileItRuns) {
  hold();
  stage().job("a");
  stage().placed("s", "strict", {{"a", {0, 1}}});
  stage().placement_of(2);
  std::set<std::string> first;
  for (const Object& pod : stage().executors()) first.insert(std::string(pod.uid()));
  const auto slots = [&](std::string_view list) {
    stage().patch(
        slot_kinds().scheduling, "s",
        fmt::format(
            R"({{"spec":{{"slotBased":{{"mode":"strict","jobs":[{{"name":{{"name":"a","namespace":"default"}},"slotIds":[{}]}}]}}}}}})",
            list));
  };
  slots("0,1,4");
  const auto grown = stage().placement_of(3);
  same_by_both_doors(grown);
  EXPECT_EQ(grown.count("a: slot 4 on node-1"), 1u);
  for (const Object& pod : stage().executors()) first.erase(std::string(pod.uid()));
  EXPECT_THAT(first, IsEmpty()) << "the others go on";
  stage().until("a runs", [&] { return stage().job_state("a") == "Running"; });
  slots("1,4");
  const std::multiset<std::string> shrunk = {"a: slot 1 on node-1", "a: slot 4 on node-1"};
  stage().until("slot 0 is given back",
                [&] { return stage().placement() == shrunk && stage().running() == "a{1,4}"; });
  EXPECT_FALSE(stage().get(kube::kJob, "a").status()["failed"].integer());
  stage().finish("a");
  until_state("s", "Completed");
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s ok"));
}

TEST_P(RealSlots, ESI_008_ESI_013_ESI_040_ESI_047_ESI_102_ESI_125_ESI_134_ARunLeavesItsTraces) {
  hold();
  stage().job("a");
  stage().job("idle");
  stage().queue("s", "aa");
  stage().until("slots are reserved before there are pods, or as soon", [&] {
    return stage().slot_states().find("FREE FREE FREE FREE") != std::string::npos &&
           stage().slot_states() != kAllFree;
  });
  stage().placement_of(2);
  stage().until("a runs", [&] { return stage().job_state("a") == "Running"; });
  stage().finish("a");
  until_state("s", "Completed");
  const Object scheduling = stage().get(slot_kinds().scheduling, "s");
  EXPECT_EQ(scheduling.status()["jobStates"][std::size_t{0}]["state"].text(), "Completed");
  const Object job = stage().get(slot_kinds().batch_job, "a");
  const json::Slice run = job.status()["scheduledEvents"][std::size_t{0}];
  EXPECT_FALSE(run["start"].text().empty());
  EXPECT_LE(run["start"].text(), run["stop"].text());
  EXPECT_EQ(run["slotIds"].raw(), "[0,1]");
  std::multiset<std::string> pods;
  for (const json::Slice pod : run["pods"].elements())
    pods.insert(fmt::format("{} {}", pod["node"].text(), pod["slot"].integer().value_or(-1)));
  EXPECT_THAT(pods, ElementsAre("node-0 0", "node-1 1"));
  same_by_both_doors(pods);
  EXPECT_FALSE(stage().get(slot_kinds().batch_job, "idle").status()["state"].present())
      << "what nobody asks anything of is left alone";
}

TEST_P(RealSlots, ESI_048_ESI_131_ALostNodesJobIsTriedAgainElsewhere) {
  hold();
  stage().job("a", R"(,"retryPolicy":{"backoffLimit":2,"backoffSeconds":1})");
  stage().queue("s", "aa");
  stage().placement_of(2);
  stage().erase(kube::kNode, "node-1");
  for (const Object& pod : stage().pods())  // what the collector of lost pods would do
    if (pod.member("spec")["nodeName"].equals("node-1"))
      stage().erase(kube::kPod, std::string(pod.name()));
  stage().until("it is tried in other slots",
                [&] { return stage().running() == "a{0,2}" && stage().placement().size() == 2; });
  same_by_both_doors(stage().placement());
  EXPECT_EQ(stage().get(slot_kinds().batch_job, "a").status()["attempt"].integer(), 2);
  stage().until("a runs", [&] { return stage().job_state("a") == "Running"; });
  stage().finish("a");
  until_state("s", "Completed");
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s ok"));
}

TEST_P(RealSlots, ESI_136_AJobRunsBesideItselfByATemplate) {
  hold();
  stage().job("a");
  stage().create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"b","namespace":"default"},"spec":{"template":{"name":"a","namespace":"default"}}})");
  stage().queue("s", "ab");
  const auto placed = stage().placement_of(2);
  EXPECT_THAT(placed, ElementsAre("a: slot 0 on node-0", "b: slot 1 on node-1"));
  same_by_both_doors(placed);
}

TEST_P(RealSlots, ESI_122_ESI_128_NodesAndQuotasAreShared) {
  stage().testbed("", 2, "1500m");
  stage().until("the elder has its slots", [&] { return stage().slot_states() == kAllFree; });
  stage().testbed("", 1, "2", "young");
  stage().until("the younger gives way", [&] {
    return stage().condition(slot_kinds().testbed, "young", "Conflicted") == "True NodeConflict";
  });
  EXPECT_THAT(stage().ghosts(false), SizeIs(6));
  stage().erase(slot_kinds().testbed, "young");
  stage().erase(slot_kinds().testbed, "tb");
  stage().until("no ghosts", [&] { return stage().ghosts(false).empty(); });
  stage().kubectl({"create", "quota", "small", "--hard=requests.cpu=2"});
  stage().until("the quota counts", [&] {
    return stage().kubectl(
               {"get", "quota", "small", "-o", "jsonpath={.status.hard.requests\\.cpu}"}) == "2";
  });
  stage().testbed();
  stage().until("the quota is named", [&] {
    return stage().condition(slot_kinds().testbed, "tb", "Ready") == "False QuotaExceeded";
  });
  EXPECT_THAT(stage().ghosts(), SizeIs(2));
  stage().kubectl({"delete", "quota", "small"});
  stage().until("the rest is held", [&] { return stage().slot_states() == kAllFree; });
}

}  // namespace
}  // namespace berth::e2e
