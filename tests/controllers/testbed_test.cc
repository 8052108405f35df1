// SPDX-License-Identifier: Apache-2.0
// Testbeds as their users see them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "controllers/testbed/ghosts.h"
#include "kube/pod_view.h"
#include "slots_lab.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string cpu_of(const Object& pod) {
  return pod.member("spec")["containers"][std::size_t{0}]["resources"]["requests"]["cpu"].text();
}
std::map<std::string, std::string> uids(const std::vector<Object>& pods) {
  std::map<std::string, std::string> out;
  for (const Object& pod : pods) out[std::string(pod.name())] = pod.uid();
  return out;
}
void foreign_pod(SlotsLab& lab, const std::string& name, const std::string& node,
                 std::string_view cpu, std::string_view more = "") {
  ASSERT_TRUE(lab.lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"other"}},"spec":{{"nodeName":"{}","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]{}}}}})",
      name, node, cpu, more)));
}

TEST(Testbed, ESI_006_EveryLabelledNodeHasItsSlots) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  const Object testbed = lab.get_testbed();
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
  EXPECT_EQ(testbed.status()["size"].integer(), 6);
  EXPECT_EQ(testbed.status()["slotCounts"]["free"].integer(), 6);
}

TEST(Testbed, ESI_007_ESI_009_SlotsSayWhereTheyAre) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  std::vector<std::string> slots;
  const Object testbed = lab.get_testbed();
  for (const json::Slice slot : testbed.status()["slots"].elements()) {
    for (const char* key : {"reservedFor", "state", "podName", "nodeName", "nodeId",
                            "slotPositionOnNode", "podUId", "position"})
      EXPECT_TRUE(slot[key].present()) << key;
    slots.push_back(fmt::format("{} {} {}.{}", *slot["position"].integer(), slot["nodeName"].text(),
                                *slot["nodeId"].integer(), *slot["slotPositionOnNode"].integer()));
  }
  EXPECT_THAT(slots,
              ElementsAre("0 n0 0.0", "1 n1 1.0", "2 n2 2.0", "3 n0 0.1", "4 n1 1.1", "5 n2 2.1"));
}

TEST(Testbed, ESI_009_ANodeLabelThatIsNoIntegerIsSaidAndDoesNoHarm) {
  SlotsLab lab;
  lab.node("n3", "three");
  lab.testbed();
  lab.lab.run();
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True NodeLabelNotInteger");
  EXPECT_EQ(lab.get_testbed().status()["slots"][std::size_t{3}]["nodeName"].text(), "n3");
}

TEST(Testbed, ESI_010_ESI_132_StatesAndConditionsSayHowItIs) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  EXPECT_EQ(lab.get_testbed().status()["state"].text(), "SUCCESS");
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True Held");
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Conflicted"), "False NoConflict");
  lab.job("A");
  lab.queue("s", "A");
  lab.lab.run(10s);
  EXPECT_EQ(lab.get_testbed().status()["state"].text(), "RUNNING");
}

TEST(Testbed, ESI_020_GhostsHoldTheRoomAndAreScheduledLikeAnyPod) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  const std::vector<Object> ghosts = lab.ghosts();
  ASSERT_EQ(ghosts.size(), 6u);
  EXPECT_EQ(ghosts[0].name(), "ghostpod-tb-on-n0-0");
  EXPECT_EQ(cpu_of(ghosts[0]), "750m");
  const json::Slice spec = ghosts[0].member("spec");
  EXPECT_EQ(spec["priorityClassName"].text(), "berth-ghost");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].integer(), 0);
  EXPECT_TRUE(spec["affinity"].present());
  EXPECT_EQ(ghosts[0].label(kube::kTestbedLabel), "tb");
  EXPECT_EQ(ghosts[0].label(kube::kSlotIdLabel), "0");
  EXPECT_EQ(ghosts[0].label(kube::kTargetNodeLabel), "n0");
  EXPECT_EQ(ghosts[0].controller()->name, "tb");
}

TEST(Testbed, ESI_021_ADeletedGhostComesBackWithItsSlot) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  auto before = uids(lab.ghosts());
  ASSERT_TRUE(lab.lab.erase(kube::kPod, {"default", "ghostpod-tb-on-n1-1"}));
  lab.lab.run();
  auto after = uids(lab.ghosts());
  EXPECT_NE(before.at("ghostpod-tb-on-n1-1"), after.at("ghostpod-tb-on-n1-1"));
  before.erase("ghostpod-tb-on-n1-1");
  after.erase("ghostpod-tb-on-n1-1");
  EXPECT_EQ(before, after);
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
}

TEST(Testbed, ESI_022_ItGrowsAndShrinksWithTheLabel) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  ASSERT_TRUE(
      lab.lab.patch(kube::kNode, {"", "n2"}, R"({"metadata":{"labels":{"tuberlin.de/tb":null}}})"));
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 4u);
  EXPECT_EQ(lab.get_testbed().status()["size"].integer(), 4);
  ASSERT_TRUE(
      lab.lab.patch(kube::kNode, {"", "n2"}, R"({"metadata":{"labels":{"tuberlin.de/tb":"2"}}})"));
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 6u);
}

TEST(Testbed, ESI_023_AChangedSizeMakesGhostsAnewAndKillsNoExecutor) {
  SlotsLab lab;
  lab.testbed();
  lab.job("A");
  lab.queue("s", "A");
  lab.lab.run(10s);
  ASSERT_EQ(lab.executors().size(), 1u);
  const std::string executor(lab.executors()[0].uid());
  ASSERT_TRUE(lab.lab.patch(kinds().testbed, {"default", "tb"},
                            R"({"spec":{"resourcesPerSlot":{"cpu":"500m"}}})"));
  lab.lab.run(5s);
  ASSERT_EQ(lab.executors().size(), 1u);
  EXPECT_EQ(lab.executors()[0].uid(), executor);
  EXPECT_FALSE(lab.executors()[0].deleting());
  lab.lab.run();
  ASSERT_EQ(lab.ghosts().size(), 6u);
  for (const Object& ghost : lab.ghosts()) EXPECT_EQ(cpu_of(ghost), "500m") << ghost.name();
}

TEST(Testbed, ESI_023_FewerSlotsWaitForThoseThatAreOccupied) {
  SlotsLab lab;
  lab.testbed();
  lab.job("A");
  lab.placed("s", "strict", {{"A", {3}}});
  lab.lab.run(10s);
  ASSERT_TRUE(lab.lab.patch(kinds().testbed, {"default", "tb"}, R"({"spec":{"slotsPerNode":1}})"));
  lab.lab.run(5s);
  EXPECT_EQ(lab.executors().size(), 1u);
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True ResizePending");
  lab.lab.run();
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE");
}

TEST(Testbed, ESI_024_ANodeWithoutRoomHoldsNothingAndIsNamed) {
  SlotsLab lab;
  lab.testbed("tb", "", 2, "3");
  lab.lab.run();
  const Object testbed = lab.get_testbed();
  EXPECT_EQ(testbed.status()["state"].text(), "ERROR");
  for (const char* node : {"n0", "n1", "n2"})
    EXPECT_THAT(testbed.status()["nodeProblems"][node][std::size_t{0}].text(), HasSubstr("cpu"));
  EXPECT_THAT(lab.ghosts(), IsEmpty());
  EXPECT_EQ(lab.condition(testbed, "Ready"), "False NoRoom");
}

TEST(Testbed, ESI_024_OnlyTheNodeThatLacksRoomIsLeftOut) {
  SlotsLab lab;
  foreign_pod(lab, "big", "n1", "3");
  lab.testbed();
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 4u);
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "False NoRoom");
  ASSERT_TRUE(lab.lab.erase(kube::kPod, {"other", "big"}));
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 6u);
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True Held");
}

TEST(Testbed, ESI_024_ScavengersCountAsRoomAndOthersOfLowPriorityDoNot) {
  SlotsLab lab;
  foreign_pod(lab, "gives-way", "n0", "3", R"(,"priorityClassName":"scavenger","priority":-1000)");
  foreign_pod(lab, "starved", "n1", "3",
              R"(,"priorityClassName":"scavenger-starved","priority":-999)");
  foreign_pod(lab, "low", "n2", "3", R"(,"priorityClassName":"batch","priority":-1000)");
  lab.testbed();
  lab.lab.run();
  std::vector<std::string> names;
  for (const Object& ghost : lab.ghosts()) names.emplace_back(ghost.name());
  EXPECT_THAT(names, testing::UnorderedElementsAre("ghostpod-tb-on-n0-0", "ghostpod-tb-on-n0-1",
                                                   "ghostpod-tb-on-n1-0", "ghostpod-tb-on-n1-1"));
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "False NoRoom");
}

TEST(Testbed, ESI_025_ASlotGoesFromItsGhostToAnExecutorAndBack) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  const std::string ghost = uids(lab.ghosts()).at("ghostpod-tb-on-n0-0");
  lab.job("A");
  lab.queue("s", "A");
  std::vector<std::string> seen;
  for (int i = 0; i < 600; ++i) {
    lab.lab.run(100ms);
    const Object testbed = lab.get_testbed();
    const json::Slice slot = testbed.status()["slots"][std::size_t{0}];
    std::string now = slot["state"].text();
    if (now == "RESERVED") now += "(" + slot["reservedFor"].text() + ")";
    if (seen.empty() || seen.back() != now) seen.push_back(now);
  }
  ASSERT_GE(seen.size(), 4u) << testing::PrintToString(seen);
  EXPECT_EQ(seen.front(), "FREE");
  EXPECT_THAT(seen, Contains("RESERVED(A)"));
  EXPECT_THAT(seen, Contains("OCCUPIED"));
  EXPECT_EQ(seen.back(), "FREE");
  EXPECT_NE(uids(lab.ghosts()).at("ghostpod-tb-on-n0-0"), ghost);
}

TEST(Testbed, ESI_008_ASlotIsFreeReservedOccupiedOrInError) {
  SlotsLab lab;
  std::set<std::string> seen;
  auto inner = std::move(lab.lab.server.on_commit);
  lab.lab.server.on_commit = [&, inner = std::move(inner)](KindId kind, const Object& o) mutable {
    if (kind == kinds().testbed)
      for (const json::Slice slot : o.status()["slots"].elements())
        seen.insert(slot["state"].text());
    inner(kind, o);
  };
  lab.testbed();
  lab.job("A");
  lab.lab.run();
  lab.queue("s", "AA");
  lab.lab.run(10s);
  ASSERT_TRUE(lab.lab.patch(kube::kNode, {"", "n2"},
                            R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
                            "status"));
  lab.lab.run();
  EXPECT_THAT(seen, ElementsAre("ERROR", "FREE", "OCCUPIED", "RESERVED"));
  lab.lab.server.on_commit = nullptr;
}

TEST(Testbed, ESI_029_TwoTestbedsRunTheirSchedulingsBesideEachOther) {
  SlotsLab lab;
  lab.node("m0", "");
  ASSERT_TRUE(lab.lab.patch(kube::kNode, {"", "m0"},
                            R"({"metadata":{"labels":{"tuberlin.de/tb":null,"other":"0"}}})"));
  ASSERT_TRUE(lab.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"mine","namespace":"default"},"spec":{"slotsPerNode":2,"nodeLabel":"other","resourcesPerSlot":{"cpu":"750m","memory":"6Gi"}}})"));
  lab.testbed();
  lab.job("A");
  lab.job("B");
  lab.lab.run();
  lab.queue("s", "AA");
  ASSERT_TRUE(lab.lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{"name":"t","namespace":"default"},"spec":{"testbed":{"name":"mine"},"queueBased":[{"name":"B"},{"name":"B"}]}})"));
  lab.lab.run(10s);
  std::multiset<std::string> places;
  for (const Object& pod : lab.executors())
    places.insert(pod.controller()->name + " on " + pod.member("spec")["nodeName"].text());
  EXPECT_THAT(places, ElementsAre("A on n0", "A on n1", "B on m0", "B on m0"));
  EXPECT_EQ(lab.ledger("mine").grants().size(), 1u);
}

TEST(Testbed, ESI_026_AGhostOfAnotherSlotIsReplacedWhileAnExecutorIsOnItsWay) {
  SlotsLab lab({.controllers = slot_controllers(false)});
  lab.testbed();
  lab.lab.run();
  // An order that nobody carries out: its slot stays reserved.
  lab.job(
      "A",
      R"(,"activeScheduling":{"name":"me"},"creationRequest":{"slotIds":[0],"testbedName":{"name":"tb"}})");
  lab.lab.run(5s);
  EXPECT_EQ(lab.slot_states(), "RESERVED FREE FREE FREE FREE FREE");
  ASSERT_TRUE(lab.lab.erase(kube::kPod, {"default", "ghostpod-tb-on-n2-1"}));
  lab.lab.run(3s);
  EXPECT_EQ(lab.ghosts().size(), 6u);
}

TEST(Testbed, ESI_027_AGhostBesideItsExecutorGoes) {
  SlotsLab lab;
  lab.testbed();
  lab.job("A");
  lab.queue("s", "AA");
  lab.lab.run(10s);
  ASSERT_EQ(lab.executors().size(), 2u);
  EXPECT_EQ(lab.ghosts().size(), 4u);
}

TEST(Testbed, ESI_028_APromiseToAPodThatIsGoneIsDropped) {
  SlotsLab lab({.controllers = slot_controllers(false)});
  lab.testbed();
  lab.lab.run();
  lab.job(
      "A",
      R"(,"activeScheduling":{"name":"me"},"creationRequest":{"slotIds":[0],"testbedName":{"name":"tb"}})");
  lab.lab.run(5s);
  lab.lab.nodes_work = false;
  const slots::Ledger ledger = lab.ledger();
  ASSERT_EQ(ledger.grants().size(), 1u);
  const auto pod = lab.lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"x","namespace":"default","labels":{{"{}":"tb","{}":"{}"}}}},"spec":{{"containers":[]}}}})",
      kube::kTestbedLabel, kube::kGrantLabel, ledger.grants().begin()->first));
  ASSERT_TRUE(pod);
  ASSERT_TRUE(lab.lab.patch(
      kinds().batch_job, {"default", "A"},
      fmt::format(R"({{"status":{{"pins":[{{"slot":0,"podUid":"{}","podName":"x"}}]}}}})",
                  pod->uid()),
      "status"));
  lab.lab.run(5s);
  const auto reserved_for = [&] {
    return lab.get_testbed().status()["slots"][std::size_t{0}]["reservedFor"].text();
  };
  EXPECT_EQ(reserved_for(), "x");
  EXPECT_EQ(
      lab.lab.get(kube::kPod, {"default", "ghostpod-tb-on-n0-0"}).label(kube::kPreemptedByLabel),
      "x");
  ASSERT_TRUE(lab.lab.erase(kube::kPod, {"default", "x"}, kube::Propagation::kBackground, 0));
  lab.lab.run(5s);
  EXPECT_EQ(reserved_for(), "A");
  EXPECT_EQ(
      lab.lab.get(kube::kPod, {"default", "ghostpod-tb-on-n0-0"}).label(kube::kPreemptedByLabel),
      "");
}

TEST(Testbed, ESI_122_OfTwoTestbedsOnANodeTheYoungerGivesWayWhereThereIsNoRoom) {
  SlotsLab lab;
  lab.testbed("old", "", 2, "1500m");
  lab.lab.run(2s);
  lab.testbed("young", "", 1, "2");
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 6u);
  EXPECT_EQ(lab.condition(lab.get_testbed("young"), "Conflicted"), "True NodeConflict");
  EXPECT_EQ(lab.condition(lab.get_testbed("old"), "Ready"), "True Held");
  ASSERT_TRUE(lab.lab.patch(kinds().testbed, {"default", "young"},
                            R"({"spec":{"resourcesPerSlot":{"cpu":"1","memory":"1Gi"}}})"));
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 9u);
  EXPECT_EQ(lab.condition(lab.get_testbed("young"), "Ready"), "True Held");
}

TEST(Testbed, ESI_128_AQuotaThatRefusesGhostsIsNamedAndSeldomAsked) {
  SlotsLab lab;
  int asked = 0;
  bool enough = false;
  lab.lab.server.admit = [&](const kube::ApiRequest& request) -> Result<Ok> {
    if (request.verb != kube::Verb::kCreate || request.kind != kube::kPod) return Ok{};
    ++asked;
    if (enough || lab.ghosts().size() < 2) return Ok{};
    return fail(Reason::kForbidden,
                "exceeded quota: small, requested: cpu=750m, used: cpu=1500m, limited: cpu=2");
  };
  lab.testbed();
  lab.lab.run(10s);
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "False QuotaExceeded");
  EXPECT_THAT(
      std::string(kube::find_condition(lab.get_testbed().status(), "Ready")["message"].text()),
      HasSubstr("used: cpu=1500m, limited: cpu=2"));
  EXPECT_EQ(lab.ghosts().size(), 2u);
  const int before = asked;
  lab.lab.run(5min);
  EXPECT_GE(asked - before, 20) << "it is tried";
  EXPECT_LE(asked - before, 31) << "once in ten seconds";
  enough = true;
  lab.lab.run(1min);
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True Held");
  lab.lab.server.admit = nullptr;
}

TEST(Testbed, ESI_129_AnIdleTestbedShrinksAndRegrowsBeforeJobsStart) {
  SlotsLab lab;
  lab.testbed("tb", R"(,"idlePolicy":{"after":"10m","shrinkTo":1})");
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 6u);
  lab.lab.run(11min);
  EXPECT_EQ(lab.ghosts().size(), 1u);
  EXPECT_EQ(lab.condition(lab.get_testbed(), "Ready"), "True IdleShrunk");
  lab.job("A");
  lab.queue("s", "AAA");
  lab.lab.run(1min);
  EXPECT_EQ(lab.state("s"), "Completed");
  EXPECT_THAT(lab.granted, ElementsAre("A{0,1,2}"));
}

TEST(Testbed, ESI_131_ANodeThatIsLostIsAnErrorAndItsSlotsReturnWithIt) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run();
  ASSERT_TRUE(lab.lab.patch(kube::kNode, {"", "n1"},
                            R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
                            "status"));
  lab.lab.run(5s);
  EXPECT_EQ(lab.slot_states(), "FREE ERROR FREE FREE ERROR FREE");
  ASSERT_TRUE(lab.lab.patch(kube::kNode, {"", "n1"},
                            R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
                            "status"));
  lab.lab.run(5s);
  EXPECT_EQ(lab.slot_states(), "FREE FREE FREE FREE FREE FREE");
}

TEST(Testbed, ESI_001_TheAliasGroupHasTestbedsOfItsOwn) {
  SlotsLab lab({.controllers = [] {
    return *make_controllers({"testbed-controller", "slot-allocator-controller",
                              "testbed-alias-controller", "slot-allocator-alias-controller"});
  }});
  lab.testbed("thesis", "", 1);
  ASSERT_TRUE(lab.lab.create(
      R"({"apiVersion":"esi.tu-berlin.de/v1alpha1","kind":"Testbed","metadata":{"name":"alias","namespace":"default"},"spec":{"slotsPerNode":1,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"1"}}})"));
  lab.lab.run();
  EXPECT_EQ(lab.ghosts().size(), 6u);
  const Object alias = lab.lab.get(kube::alias_kinds().testbed, {"default", "alias"});
  EXPECT_EQ(lab.condition(alias, "Ready"), "True Held");
  EXPECT_THAT(lab.lab.names(kube::alias_kinds().ledger), ElementsAre("alias"));
  EXPECT_THAT(lab.lab.names(kinds().ledger), ElementsAre("thesis"));
}

TEST(Testbed, AnIdleTestbedWritesNothing) {
  SlotsLab lab;
  lab.testbed();
  lab.lab.run(1min);
  const std::uint64_t writes = lab.lab.writes();
  lab.lab.run(10min);
  EXPECT_EQ(lab.lab.writes(), writes);
}

TEST(Testbed, LongNamesOfGhostsAreCutAndDiffer) {
  const std::string node(60, 'n');
  const std::string first = ghost_name("testbed", node, 0), second = ghost_name("testbed", node, 1);
  EXPECT_LE(first.size(), 63u);
  EXPECT_NE(first, second);
}

TEST(TestbedCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep(
      {slot_controllers(), [](Lab& lab) {
         for (int i = 0; i < 2; ++i) labelled_node(lab, fmt::format("n{}", i), std::to_string(i));
         ASSERT_TRUE(lab.create(
             R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":2,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"1"}}})"));
         lab.run(1min);
         lab.patch(kube::kNode, {"", "n1"}, R"({"metadata":{"labels":{"tuberlin.de/tb":null}}})");
         lab.run(1min);
       }});
}

}  // namespace
}  // namespace berth::controllers::stories
