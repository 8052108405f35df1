// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/observe.h"

#include <gtest/gtest.h>

#include "policy/slots/choose.h"
#include "policy/slots/explain_slot.h"
#include "policy/slots/slots_for_test.h"

namespace berth::slots {
namespace {

std::string states(const TestbedScene& scene, WallTime now = {}) {
  std::string out;
  for (const Slot& slot : scene.table(now).slots) {
    if (!out.empty()) out += ' ';
    out += name_of(slot.state);
  }
  return out;
}

TEST(Observe, ESI_025_FollowsASlotThroughItsLife) {
  TestbedScene scene(1, 1);
  EXPECT_EQ(states(scene.no_ghost(0)), "holding");
  EXPECT_EQ(states(scene.ghost(0, false)), "holding");
  EXPECT_EQ(states(scene.no_ghost(0).ghost(0)), "free");
  const GrantId grant = scene.grant("a", {0});
  EXPECT_EQ(states(scene), "reserved");
  scene.no_ghost(0);
  EXPECT_EQ(states(scene), "reserved");
  scene.pods.push_back(
      {.key = {"default", "x"}, .uid = "x", .node = "n0", .grant = grant, .slot = 0});
  EXPECT_EQ(states(scene), "occupied");
  scene.run_facts[grant].closing = true;
  EXPECT_EQ(states(scene), "draining");
  scene.pods.clear();
  scene.ledger.release(grant);
  EXPECT_EQ(states(scene), "holding");
}

TEST(Observe, AGhostThatIsNotScheduledForTenSecondsIsAnError) {
  TestbedScene scene(1, 1);
  scene.no_ghost(0).ghost(0, false);
  scene.pods.back().refused = "0/1 nodes are available: 1 Insufficient cpu.";
  EXPECT_EQ(states(scene, WallTime{} + 9s), "holding");
  EXPECT_EQ(states(scene, WallTime{} + 10s), "error");
  EXPECT_EQ(scene.table(WallTime{} + 10s).slots[0].problem,
            "its ghost is refused: 0/1 nodes are available: 1 Insufficient cpu.");
}

TEST(Observe, AGrantedSlotWaitsForItsExecutorWhateverBecomesOfItsGhost) {
  TestbedScene scene(1, 1);
  const GrantId grant = scene.grant("A", {0});
  scene.no_ghost(0).ghost(0, false);
  const SlotTable late = scene.table(WallTime{} + 10s);
  EXPECT_EQ(states(scene, WallTime{} + 10s), "reserved");
  EXPECT_EQ(late.slots[0].problem, "its ghost is not scheduled");
  EXPECT_EQ(choose_slot(late, {}, {.pod = "x", .grant = grant, .requests = {}}).kind,
            SlotAnswer::Kind::kSlot);
}

TEST(Observe, ESI_131_ANodeThatIsGoneOrSilentIsAnError) {
  TestbedScene scene(2, 1);
  scene.facts["n0"].ready = false;
  scene.facts.erase("n1");
  EXPECT_EQ(states(scene), "error error");
  EXPECT_EQ(scene.table().slots[1].problem, "node n1 is gone");
}

TEST(Observe, ASlotThatLeftTheGeometryDrainsAndIsAHoleAfterwards) {
  TestbedScene scene(2, 1);
  scene.grant("a", {1}, true);
  scene.wanted[0].nodes = {"n0"};
  EXPECT_EQ(states(scene), "free draining");
  scene.pods.pop_back();
  scene.ledger.release(scene.jobs[{"default", "a"}].grant);
  EXPECT_EQ(states(scene), "free absent");
}

TEST(Observe, ESI_129_OfAnIdleTestbedSomeSlotsAreHeldAndAllThatAreGranted) {
  TestbedScene scene(3, 1);
  scene.held = 1;
  EXPECT_EQ(states(scene), "free absent absent");
  scene.grant("a", {2});
  EXPECT_EQ(states(scene), "free absent reserved");
}

TEST(Observe, APodOfAnotherGrantIsAStrayAndItsSlotInError) {
  TestbedScene scene(1, 1);
  scene.no_ghost(0);
  scene.pods.push_back(
      {.key = {"default", "x"}, .uid = "x", .node = "n0", .grant = "old-1", .slot = 0});
  const SlotTable table = scene.table();
  EXPECT_EQ(table.slots[0].state, SlotState::kError);
  ASSERT_EQ(table.strays.size(), 1u);
  EXPECT_EQ(table.strays[0].first.uid, "x");
  EXPECT_EQ(table.strays[0].second, "grant old-1 is not in the ledger");
}

TEST(Observe, OfTwoPodsWithOneSlotTheElderKeepsIt) {
  TestbedScene scene(1, 1);
  const GrantId grant = scene.grant("a", {0}, true);
  scene.pods.insert(scene.pods.begin(), {.key = {"default", "y"},
                                         .uid = "y",
                                         .node = "n0",
                                         .grant = grant,
                                         .slot = 0,
                                         .created = WallTime{} + 5s});
  const SlotTable table = scene.table();
  EXPECT_EQ(table.slots[0].executor->uid, "a-0");
  ASSERT_EQ(table.strays.size(), 1u);
  EXPECT_EQ(table.strays[0].first.uid, "y");
}

TEST(Observe, APinPlacesAPodThatAStockSchedulerBound) {
  TestbedScene scene(2, 1);
  const GrantId grant = scene.grant("a", {0, 1});
  scene.run_facts[grant].pins = {{.slot = 1, .pod_uid = "x", .pod_name = "x"}};
  scene.pods.push_back({.key = {"default", "x"}, .uid = "x", .grant = grant});
  EXPECT_EQ(scene.table().slots[1].promised->uid, "x");
  scene.pods.back().node = "n1";
  EXPECT_EQ(scene.table().slots[1].state, SlotState::kOccupied);
}

TEST(Choose, ESI_064_GivesTheLowestSlotThatIsNotPromisedAndStaysWithIt) {
  TestbedScene scene(3, 2);
  const GrantId grant = scene.grant("a", {1, 3, 4});
  const SlotTable table = scene.table();
  const SlotAnswer first = choose_slot(table, {}, {"p", grant, {}});
  EXPECT_EQ(first.kind, SlotAnswer::Kind::kSlot);
  EXPECT_EQ(first.slot, 1);
  EXPECT_EQ(first.node, "n1");
  EXPECT_EQ(first.ghost->uid, "ghost-1");
  EXPECT_EQ(choose_slot(table, {{1, "q"}}, {"p", grant, {}}).slot, 3);
  EXPECT_EQ(choose_slot(table, {{4, "p"}}, {"p", grant, {}}).slot, 4);
}

TEST(Choose, ABoundPodHasItsSlotWhateverThePinsSay) {
  TestbedScene scene(3, 2);
  const GrantId grant = scene.grant("a", {1, 3}, true);
  EXPECT_EQ(choose_slot(scene.table(), {{1, "a-3"}}, {"a-3", grant, {}}).slot, 3);
}

TEST(Choose, APinOnANodeThatTakesNoPodsMoves) {
  TestbedScene scene(3, 1);
  const GrantId grant = scene.grant("a", {0, 2});
  scene.facts["n0"].schedulable = false;
  const SlotAnswer answer = choose_slot(scene.table(), {{0, "p"}}, {"p", grant, {}});
  EXPECT_EQ(answer.slot, 2);
  ASSERT_EQ(answer.why.size(), 1u);
  EXPECT_EQ(answer.why[0].why, "node n0 takes no pods");
}

TEST(Choose, ESI_067_WaitsAndSaysWhyWhereNoSlotIsLeft) {
  TestbedScene scene(2, 1);
  const GrantId grant = scene.grant("a", {0, 1}, true);
  const SlotAnswer answer = choose_slot(scene.table(), {}, {"late", grant, {}});
  EXPECT_EQ(answer.kind, SlotAnswer::Kind::kWait);
  ASSERT_EQ(answer.why.size(), 2u);
  EXPECT_EQ(answer.why[0].why, "default/a-0 runs there");
}

TEST(Choose, ASlotMustBeLargeEnough) {
  TestbedScene scene(1, 1);
  const GrantId grant = scene.grant("a", {0});
  kube::ResourceList large{{"cpu", *kube::Quantity::parse("1")}};
  EXPECT_EQ(choose_slot(scene.table(), {}, {"p", grant, large}).why.at(0).why,
            "it holds 750m of cpu, 1 is asked for");
}

TEST(Choose, ESI_068_APodWithoutAGrantIsNotOurs) {
  EXPECT_EQ(choose_slot(TestbedScene().table(), {}, {"p", "", {}}).kind,
            SlotAnswer::Kind::kNotOurs);
}

// The order in which pods come does not matter: as many as there are slots get one each.
TEST(ChooseProperty, PodsThatPinWhatTheyAreGivenGetDistinctSlots) {
  TestbedScene scene(3, 2);
  const GrantId grant = scene.grant("a", {0, 1, 2, 3, 4, 5});
  const SlotTable table = scene.table();
  Pins pins;
  for (int pod = 0; pod < 6; ++pod) {
    const SlotAnswer answer = choose_slot(table, pins, {std::to_string(pod), grant, {}});
    ASSERT_EQ(answer.kind, SlotAnswer::Kind::kSlot);
    ASSERT_TRUE(pins.emplace(answer.slot, std::to_string(pod)).second);
    EXPECT_EQ(choose_slot(table, pins, {std::to_string(pod), grant, {}}).slot, answer.slot);
  }
  EXPECT_EQ(choose_slot(table, pins, {"seventh", grant, {}}).kind, SlotAnswer::Kind::kWait);
}

TEST(ExplainSlot, NamesOneCauseAndOneRemedy) {
  TestbedScene scene(2, 2);
  scene.grant("a", {1}, true);
  scene.grant("b", {2});
  scene.facts["n0"].schedulable = false;
  const SlotTable table = scene.table();
  EXPECT_EQ(explain_slot(table, 9).cause, "the Testbed has no slot 9");
  EXPECT_EQ(explain_slot(table, 1).cause, "slot 1 on n1 is used by pod default/a-1 of default/a");
  EXPECT_EQ(explain_slot(table, 2).remedy, "The node takes no pods: uncordon it.");
  EXPECT_EQ(explain_slot(table, 3).cause, "slot 3 on n1 is free");
}

}  // namespace
}  // namespace berth::slots
