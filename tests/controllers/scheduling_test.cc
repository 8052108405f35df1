// SPDX-License-Identifier: Apache-2.0
// Schedulings as their users see them: who runs where, in which order, and what is said of it.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "jobs_lab.h"
#include "slot_invariants.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kShared = R"(,"sharing":"Shared")";

void with_testbed(SlotsLab& lab, std::string_view jobs, std::string_view more = "") {
  lab.testbed("tb", more);
  for (const char job : jobs) lab.job(std::string(1, job));
  lab.lab.run();
}
std::string claim(SlotsLab& lab, const std::string& job) {
  return lab.get_job(job).member("spec")["activeScheduling"]["name"].text();
}
void runs_for(SlotsLab& lab, std::map<std::string, Duration> lengths) {
  lab.lab.life = [lengths](const Object& pod) {
    PodLife life;
    life.stop = 100ms;
    if (pod.label(kube::kGrantLabel).empty()) return life;
    const auto found = lengths.find(std::string(pod.controller()->name));
    life.run = found == lengths.end() ? 20s : found->second;
    return life;
  };
}

TEST(Scheduling, ESI_011_ESI_083_AQueueRunsToTheEnd) {
  SlotsLab lab;
  with_testbed(lab, "AB");
  lab.queue("s", "ABBA");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,3} B{1,2}");
  EXPECT_EQ(lab.state("s"), "AwaitingCompletion");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Complete"), "True AllComplete");
  EXPECT_EQ(lab.running(), "");
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
  EXPECT_THAT(lab.wrongs, IsEmpty());
}

TEST(Scheduling, ESI_083_WhatDoesNotFitWaitsAndRunsInOrder) {
  SlotsLab lab;
  with_testbed(lab, "ABCD");
  lab.queue("s", "AAABBCCCCD");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,1,2} B{3,4}");
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Progressing"), "True Running");
  lab.lab.run(3min);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_THAT(lab.granted, ElementsAre("A{0,1,2}", "B{3,4}", testing::StartsWith("C"),
                                       testing::StartsWith("D")));
}

TEST(Scheduling, ESI_084_AnInterleavedQueueWaitsForItsThirdSlot) {
  SlotsLab lab;
  with_testbed(lab, "ABXY", kShared);
  runs_for(lab, {{"X", 10min}, {"Y", 1min}});
  lab.placed("x", "strict", {{"X", {0, 1, 2}}, {"Y", {3}}});
  lab.lab.run(10s);
  lab.queue("s", "ABA");
  lab.lab.run(20s);
  EXPECT_EQ(lab.running(), "X{0,1,2} Y{3}");
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Progressing"), "False WaitingForCapacity");
  lab.lab.run(1min);
  EXPECT_THAT(lab.granted, Contains("A{3,5}"));
  EXPECT_THAT(lab.granted, Contains("B{4}"));
}

TEST(Scheduling, ESI_085_StrictWaitsAndRelaxedOvertakes) {
  for (const bool strict : {true, false}) {
    SlotsLab lab;
    with_testbed(lab, "ABC");
    lab.placed("s", strict ? "strict" : "relaxed", {{"A", {0, 1}}, {"B", {0, 1}}, {"C", {4}}});
    lab.lab.run(10s);
    EXPECT_EQ(lab.running(), strict ? "A{0,1}" : "A{0,1} C{4}");
    lab.lab.run(2min);
    EXPECT_EQ(lab.state("s"), "Completed");
  }
}

TEST(Scheduling, ESI_012_AWrongSlotIsNamed) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.placed("s", "strict", {{"A", {9}}});
  lab.lab.run();
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Progressing"), "False InvalidSlot");
}

TEST(Scheduling, ESI_012_AJobNamedTwiceIsNamed) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.placed("s", "strict", {{"A", {0}}, {"A", {1}}});
  lab.lab.run();
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Progressing"), "False DuplicateJob");
  EXPECT_EQ(lab.running(), "");
}

TEST(Scheduling, ESI_013_JobStatesAdvance) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.queue("s", "A");
  lab.lab.run(1min);
  EXPECT_THAT(lab.chips, ElementsAre("Acquiring", "InQueue", "Submitted", "Running", "Completed"));
}

TEST(Scheduling, ESI_014_ESI_005_AJobRunsAgainAndAgain) {
  SlotsLab lab;
  with_testbed(lab, "A");
  for (const char* name : {"one", "two", "three"}) {
    lab.queue(name, "A");
    lab.lab.run(1min);
    EXPECT_EQ(lab.state(name), "Completed");
    ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", name}));
    lab.lab.run(10s);
    EXPECT_EQ(lab.state(name), "gone");
  }
  EXPECT_EQ(lab.get_job("A").status()["scheduledEvents"].size(), 3u);
  EXPECT_EQ(lab.get_job("A").status()["closedRun"].integer(), 3);
}

TEST(Scheduling, ESI_004_AnOrderByHandIsCarriedOutAndEndsWithTheClaim) {
  SlotsLab lab;
  with_testbed(lab, "");
  lab.job(
      "A",
      R"(,"activeScheduling":{"name":"me"},"creationRequest":{"slotIds":[1,4],"testbedName":{"name":"tb"},"run":1})");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{1,4}");
  EXPECT_THAT(lab.executors(), SizeIs(2));
  ASSERT_TRUE(
      lab.lab.patch(kinds().batch_job, {"default", "A"}, R"({"spec":{"activeScheduling":null}})"));
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "");
  EXPECT_THAT(lab.executors(), IsEmpty());
  lab.lab.run(20s);
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
}

// I3: as long as the claim is there, somebody may be about to open the run.
TEST(Scheduling, ESI_088_AGrantThatNobodyOpenedGoesWithTheClaimAndNotBefore) {
  SlotsLab lab({.controllers = only({"testbed-controller", "slot-allocator-controller"}),
                .beside = {only({"scheduling-controller"})}});
  SlotInvariants invariants(lab.lab, SlotInvariants::Room::kIgnored);
  with_testbed(lab, "A");
  lab.queue("s", "A");
  ASSERT_TRUE(lab.lab.patch(kinds().batch_job, {"default", "A"},
                            R"({"status":{"state":"InQueue"}})", "status"));
  lab.lab.run(10s);
  ASSERT_EQ(lab.running(), "A{0}");
  ASSERT_TRUE(lab.get_job("A").member("spec")["creationRequest"].present());
  lab.lab.stop(1);
  invariants.excuse(11s);  // nobody is there to give the claim back
  ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", "s"}));
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0}");
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  lab.lab.crash(1);
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "gone");
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  EXPECT_THAT(invariants.left_over(), IsEmpty());
}

// Says who holds a job for long without having all that it wants.
std::string holds_and_waits(SlotsLab& lab, std::map<std::string, Duration>& waits, Duration step) {
  std::set<std::string> now;
  for (const char* job : {"A", "B"}) {
    const std::string by = claim(lab, job);
    if (by.empty() || lab.get_scheduling(by).status()["acquiredTime"].present()) continue;
    now.insert(by + " holds " + job);
  }
  std::erase_if(waits, [&](const auto& each) { return now.count(each.first) == 0; });
  for (const std::string& each : now)
    if ((waits[each] += step) > 2s) return each;
  return "";
}

// The large count runs nightly.
TEST(Scheduling, ESI_080_TwoThatWantTheSameBothFinish) {
  const Seed seeds = std::getenv("BERTH_SLOTS") != nullptr ? 200 : 8;
  for (Seed seed = 1; seed <= seeds; ++seed) {
    SlotsLab lab({.controllers = slot_controllers(), .seed = seed, .order = Order::kShuffled});
    with_testbed(lab, "AB", kShared);
    Random random(seed);
    std::map<std::string, Duration> waits;
    lab.queue("s1", "AB");
    lab.lab.run(std::chrono::milliseconds(random.below(1'500)));
    lab.queue("s2", "BA");
    for (int i = 0; i < 200; ++i) {
      lab.lab.run(200ms);
      ASSERT_EQ(holds_and_waits(lab, waits, 200ms), "") << seed;
    }
    const std::string first = lab.state("s1") == "Completed" ? "s1" : "s2";
    EXPECT_EQ(lab.state(first), "Completed") << seed;
    ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", first}));
    lab.lab.run(1min);
    EXPECT_EQ(lab.state(first == "s1" ? "s2" : "s1"), "Completed") << seed;
    EXPECT_THAT(lab.wrongs, IsEmpty()) << seed;
  }
}

TEST(Scheduling, ESI_041_OfTwoWhoClaimAJobOneHasIt) {
  for (Seed seed = 1; seed <= 5; ++seed) {
    SlotsLab lab({.controllers = slot_controllers(), .seed = seed, .order = Order::kShuffled});
    SlotInvariants invariants(lab.lab, SlotInvariants::Room::kIgnored);
    with_testbed(lab, "A", kShared);
    const Object before = lab.get_job("A");
    lab.queue("s1", "A");
    lab.queue("s2", "A");
    lab.lab.run(5s);
    const std::string holder = claim(lab, "A");
    EXPECT_THAT(holder, testing::AnyOf("s1", "s2")) << seed;
    EXPECT_EQ(lab.state(holder == "s1" ? "s2" : "s1"), "Acquire") << seed;
    EXPECT_THAT(invariants.wrongs(), IsEmpty()) << seed;
    // Whoever still goes by what it was before is refused.
    EXPECT_FALSE(lab.lab.patch(
        kinds().batch_job, {"default", "A"},
        fmt::format(
            R"({{"metadata":{{"resourceVersion":"{}"}},"spec":{{"activeScheduling":{{"name":"x"}}}}}})",
            before.revision())))
        << seed;
  }
}

TEST(Scheduling, ESI_086_NoSlotIsGivenTwiceWhileTheTestbedSaysNothing) {
  SlotsLab lab({.controllers = only({"slot-allocator-controller", "scheduling-controller"}),
                .beside = {only({"testbed-controller"}), [] {
                             std::vector<std::unique_ptr<runtime::Controller>> one;
                             one.push_back(make_job_stand_in());
                             return one;
                           }}});
  SlotInvariants invariants(lab.lab, SlotInvariants::Room::kIgnored);
  with_testbed(lab, "ABC", kShared);
  lab.lab.stop(1);  // the Testbed's status stays what it was
  lab.queue("s1", "AAA");
  lab.queue("s2", "BBB");
  lab.queue("s3", "C");
  lab.lab.run(10s);
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
  EXPECT_EQ(lab.running(), "A{0,1,2} B{3,4,5}");
  lab.lab.crash(1);
  lab.lab.run(2min);
  for (const char* name : {"s1", "s2", "s3"}) EXPECT_EQ(lab.state(name), "Completed") << name;
  EXPECT_THAT(lab.wrongs, IsEmpty());
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(Scheduling, ESI_125_SlotsAreReservedBeforeTheOrderToRun) {
  SlotsLab lab({.controllers = slot_controllers(false)});  // nobody carries orders out
  SlotInvariants invariants(lab.lab,
                            SlotInvariants::Room::kIgnored);  // I2: what is ordered is granted
  with_testbed(lab, "A");
  lab.queue("s", "AA");
  lab.lab.run(10s);
  const Object job = lab.get_job("A");
  EXPECT_EQ(job.member("spec")["creationRequest"]["slotIds"].raw(), "[0,1]");
  EXPECT_EQ(lab.running(), "A{0,1}");
  const Object testbed = lab.get_testbed();
  EXPECT_EQ(testbed.status()["slots"][std::size_t{1}]["reservedFor"].text(), "A");
  EXPECT_EQ(lab.slot_states(), "RESERVED RESERVED FREE FREE FREE FREE");
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
}

TEST(Scheduling, ESI_081_EightOverFiveSharedJobsAllCompleteInTheOrderOfTheirTickets) {
  JobsLab lab;
  SlotInvariants invariants(lab.lab);
  ASSERT_TRUE(
      lab.lab.patch(kinds().testbed, {"default", "tb"}, R"({"spec":{"sharing":"Shared"}})"));
  for (const char* job : {"A", "B", "C", "D", "E"}) lab.spark(job, R"("berth.dev/duration":"5s")");
  const std::vector<std::string> wants = {"AB", "BC", "CD", "DE", "EA", "ACE", "BD", "EDCBA"};
  for (std::size_t i = 0; i < wants.size(); ++i) {
    lab.queue(fmt::format("s{}", i), wants[i]);
    lab.lab.run(1100ms);  // tickets of one second are drawn
  }
  std::set<std::string> complete;
  for (int step = 0; step < 120 && complete.size() < wants.size(); ++step) {
    lab.lab.run(5s);
    for (std::size_t i = 0; i < wants.size(); ++i) {
      const std::string name = fmt::format("s{}", i);
      if (lab.state(name) != "Completed" || !complete.insert(name).second) continue;
      ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", name}));
    }
  }
  EXPECT_EQ(complete.size(), wants.size());
  lab.lab.run(1min);
  EXPECT_THAT(lab.lab.names(kinds().scheduling), IsEmpty());
  EXPECT_EQ(lab.running(), "");
  for (const char job : std::string("ABCDE")) {
    std::vector<std::string> in_turn;
    for (std::size_t i = 0; i < wants.size(); ++i)
      if (wants[i].find(job) != std::string::npos)
        in_turn.push_back(fmt::format("{} s{} ok", in_turn.size() + 1, i));
    EXPECT_EQ(lab.history(std::string(1, job)), in_turn) << job;
  }
  EXPECT_THAT(lab.wrongs, IsEmpty());
  EXPECT_THAT(invariants.wrongs(), IsEmpty());
  EXPECT_THAT(invariants.left_over(), IsEmpty());
}

TEST(Scheduling, ESI_082_AnExclusiveTestbedHasOneAtATime) {
  SlotsLab lab;
  with_testbed(lab, "AB");
  lab.queue("s1", "A");
  lab.lab.run(2s);
  lab.queue("s2", "B");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s1"), "Completed");
  EXPECT_EQ(lab.state("s2"), "Acquire");
  EXPECT_EQ(lab.condition(lab.get_scheduling("s2"), "Acquired"), "False TestbedHeld");
  EXPECT_EQ(claim(lab, "B"), "");
  ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", "s1"}));
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s2"), "Completed");
}

TEST(Scheduling, ESI_087_AnEntryAddedWhileTheLastRunsIsRunToo) {
  SlotsLab lab;
  with_testbed(lab, "AC");
  lab.queue("s", "A");
  lab.lab.run(10s);
  EXPECT_EQ(lab.state("s"), "AwaitingCompletion");
  ASSERT_TRUE(lab.lab.patch(kinds().scheduling, {"default", "s"},
                            R"({"spec":{"queueBased":[{"name":"A"},{"name":"C"}]}})"));
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_THAT(lab.granted, ElementsAre("A{0}", testing::StartsWith("C")));
}

TEST(Scheduling, ESI_088_DeletionGivesEverythingBackFirst) {
  SlotsLab lab;
  with_testbed(lab, "AB");
  runs_for(lab, {{"A", 10min}});
  lab.queue("s", "AB");
  lab.lab.run(10s);
  EXPECT_EQ(claim(lab, "A"), "s");
  ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", "s"}));
  lab.lab.run(50ms);
  EXPECT_TRUE(lab.get_scheduling("s").valid());
  lab.lab.run(10s);
  EXPECT_EQ(lab.state("s"), "gone");
  EXPECT_EQ(claim(lab, "A"), "");
  EXPECT_EQ(claim(lab, "B"), "");
  EXPECT_EQ(lab.running(), "");
  EXPECT_FALSE(lab.ledger().owner);
}

TEST(Scheduling, ESI_088_DeletionWithoutATestbedDoesNotHang) {
  SlotsLab lab;
  lab.job("A");
  lab.queue("s", "A");
  lab.lab.run(5s);
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Acquired"), "False TestbedNotFound");
  ASSERT_TRUE(lab.lab.erase(kinds().scheduling, {"default", "s"}));
  lab.lab.run(5s);
  EXPECT_EQ(lab.state("s"), "gone");
  EXPECT_EQ(claim(lab, "A"), "");
}

TEST(Scheduling, ESI_089_ACompletedOneKeepsItsClaimsUntilItGoes) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.queue("s", "A", R"(,"ttlSecondsAfterFinished":60)");
  lab.lab.run(50s);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_EQ(claim(lab, "A"), "s");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "gone");
  EXPECT_EQ(claim(lab, "A"), "");
}

TEST(Scheduling, ESI_090_AMissingJobIsNamedAndRunsOnceItIsThere) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.queue("s", "AB");
  lab.lab.run(10s);
  EXPECT_EQ(lab.condition(lab.get_scheduling("s"), "Progressing"), "False JobNotFound");
  EXPECT_EQ(lab.running(), "A{0}");
  lab.job("B");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "Completed");
}

TEST(Scheduling, ESI_091_ESI_092_EventsAndTimesTellItsStory) {
  SlotsLab lab;
  with_testbed(lab, "A");
  lab.queue("s", "A");
  lab.lab.run(1min);
  EXPECT_THAT(lab.lab.events(), Contains("Submitted: BatchJob default/A is Submitted"));
  EXPECT_THAT(lab.lab.events(), Contains("Completed: BatchJob default/A is Completed"));
  const Object object = lab.get_scheduling("s");
  EXPECT_TRUE(object.status()["acquiredTime"].present());
  EXPECT_LT(object.status()["acquiredTime"].text(), object.status()["completionTime"].text());
}

TEST(Scheduling, ESI_123_TheQueueMayBeChangedWhileItRuns) {
  SlotsLab lab({.controllers = slot_controllers()}, 1);
  with_testbed(lab, "ABCD");
  lab.queue("s", "AABCD");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,1}");
  EXPECT_EQ(claim(lab, "B"), "s");
  ASSERT_TRUE(lab.lab.patch(
      kinds().scheduling, {"default", "s"},
      R"({"spec":{"queueBased":[{"name":"A"},{"name":"A"},{"name":"D"},{"name":"C"}]}})"));
  lab.lab.run(5s);
  EXPECT_EQ(claim(lab, "B"), "");
  EXPECT_EQ(lab.running(), "A{0,1}");
  lab.lab.run(2min);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_THAT(lab.granted, testing::UnorderedElementsAre("A{0,1}", "D{0}", "C{1}"));
}

TEST(Scheduling, ESI_124_SlotsOfARunningJobGrowAndShrink) {
  SlotsLab lab;
  with_testbed(lab, "A");
  runs_for(lab, {{"A", 10min}});
  lab.placed("s", "strict", {{"A", {0, 1}}});
  lab.lab.run(10s);
  const auto slots = [&](std::string_view list) {
    ASSERT_TRUE(lab.lab.patch(
        kinds().scheduling, {"default", "s"},
        fmt::format(
            R"({{"spec":{{"slotBased":{{"jobs":[{{"name":{{"name":"A"}},"slotIds":[{}]}}]}}}}}})",
            list)));
    lab.lab.run(10s);
  };
  slots("0,1,4");
  EXPECT_EQ(lab.running(), "A{0,1,4}");
  EXPECT_THAT(lab.executors(), SizeIs(3));
  slots("1,4");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{1,4}");
  EXPECT_THAT(lab.executors(), SizeIs(2));
  EXPECT_EQ(lab.slot_states(), "FREE OCCUPIED FREE FREE OCCUPIED FREE");
  EXPECT_THAT(lab.wrongs, IsEmpty());
}

TEST(Scheduling, ESI_126_TwoShareATestbedAndOverlapWaits) {
  SlotsLab lab;
  with_testbed(lab, "ABC", kShared);
  lab.placed("s1", "strict", {{"A", {0, 1}}});
  lab.lab.run(2s);
  lab.placed("s2", "strict", {{"B", {4, 5}}});
  lab.lab.run(2s);
  lab.placed("s3", "strict", {{"C", {1, 2}}});
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,1} B{4,5}");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s3"), "Completed");
  EXPECT_THAT(lab.wrongs, IsEmpty());
}

TEST(Scheduling, ESI_131_NumbersStayWhileANodeComes) {
  SlotsLab lab;
  with_testbed(lab, "A");
  runs_for(lab, {{"A", 2min}});
  lab.queue("s", "AAAA");
  lab.lab.run(10s);
  lab.node("n00", "-1");
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,1,2,3}");
  const Object testbed = lab.get_testbed();
  EXPECT_EQ(testbed.status()["slots"][std::size_t{6}]["nodeName"].text(), "n00");
  EXPECT_EQ(testbed.status()["slots"][std::size_t{0}]["nodeName"].text(), "n0");
}

TEST(Scheduling, ALostLedgerIsRebuiltFromTheJobsThatRun) {
  SlotsLab lab;
  with_testbed(lab, "A");
  runs_for(lab, {{"A", 2min}});
  lab.queue("s", "AA");
  lab.lab.run(10s);
  ASSERT_TRUE(
      lab.lab.patch(kinds().ledger, {"default", "tb"}, R"({"metadata":{"finalizers":[]}})"));
  ASSERT_TRUE(lab.lab.erase(kinds().ledger, {"default", "tb"}));
  lab.lab.run(10s);
  EXPECT_EQ(lab.running(), "A{0,1}");
  EXPECT_THAT(lab.executors(), SizeIs(2));
  lab.lab.run(3min);
  EXPECT_EQ(lab.state("s"), "Completed");
}

void play(Lab& lab) {
  for (int i = 0; i < 2; ++i) labelled_node(lab, fmt::format("n{}", i), std::to_string(i));
  lab.life = [](const Object& pod) {
    PodLife life;
    if (!pod.label(kube::kGrantLabel).empty()) life.run = 20s;
    return life;
  };
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":1,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"1"}}})"));
  for (const char* job : {"a", "b"})
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"jobSpec":{{}}}}}})",
        job)));
  lab.run(10s);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{"name":"s","namespace":"default"},"spec":{"testbed":{"name":"tb"},"queueBased":[{"name":"a"},{"name":"a"},{"name":"b"}]}})"));
  const auto completed = [&] {
    return kube::SchedulingView(lab.get(kinds().scheduling, {"default", "s"})).completed();
  };
  for (int i = 0; i < 60 && !completed(); ++i) lab.run(30s);  // a bad wire takes its time
  ASSERT_TRUE(completed());
  ASSERT_TRUE(lab.erase(kinds().scheduling, {"default", "s"}));
  lab.run(2min);
}

TEST(SchedulingCrashSweep, ARunEndsTheSameWhereverItIsKilled) {
  crash_sweep({slot_controllers(), play});
}
TEST(SchedulingFaultSweep, ARunEndsTheSameOverABadWire) { fault_sweep({slot_controllers(), play}); }

}  // namespace
}  // namespace berth::controllers::stories
