// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/admit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/scavenge/admit_for_test.h"

namespace berth::scavenge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Admit, R42_StopsExactlyAtTheThreshold) {
  AdmitScene scene(10, "10");
  for (int i = 0; i < 10; ++i) scene.used(i, "6");
  for (int i = 0; i < 12; ++i) scene.wait(fmt::format("j{:02}", i), "1");
  EXPECT_EQ(scene.starts().size(), 10u);  // 60 + 10 = 70
  scene.rules().threshold_percent = 71;
  EXPECT_EQ(scene.starts().size(), 11u);
  EXPECT_EQ(scene.waits(), "j11 threshold: cpu: 71 of 71 in use, 1 more asked for");
}

TEST(Admit, R42_RaisingTheThresholdLetsTheNextOneStart) {
  AdmitScene scene(10, "10");
  for (int i = 0; i < 10; ++i) scene.used(i, "7");
  scene.wait("a", "10").wait("b", "10");
  EXPECT_THAT(scene.starts(), IsEmpty());
  for (int i = 0; i < 10; ++i) scene.used(i, "6500m");  // room for a member on no node
  EXPECT_THAT(scene.starts(), IsEmpty());
  scene.used(3, "0").used(4, "0").used(5, "0");
  scene.rules().threshold_percent = 60;
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
}

TEST(Admit, R43_TheCurrentUseAloneMayBeAskedFor) {
  AdmitScene scene(2, "10");
  scene.used(0, "6").used(1, "7");
  scene.wait("a", "3").wait("b", "3");
  EXPECT_THAT(scene.starts(), IsEmpty());  // 16 of 20 would be above 14
  scene.rules().mode = ThresholdMode::kCurrent;
  EXPECT_THAT(scene.starts(), ElementsAre("a"));  // 13 is below 14; 16 is not
  scene.used(0, "7");
  EXPECT_THAT(scene.starts(), IsEmpty());  // at the threshold
}

TEST(Admit, R34_InterruptedOnesComeFirstAndWhatFitsPassesThem) {
  AdmitScene scene(1, "10");
  scene.rules().threshold_percent = 100;
  scene.wait("c", "2").wait("b", "2", 1).wait("a", "8", 2);
  scene.used(0, "7");
  EXPECT_THAT(scene.starts(), ElementsAre("b"));
  EXPECT_EQ(scene.waits(),
            "a threshold: cpu: 7 of 10 in use, 8 more asked for; "
            "c threshold: cpu: 9 of 10 in use, 2 more asked for");
  scene.used(0, "6");
  EXPECT_THAT(scene.starts(), ElementsAre("b", "c"));
  scene.used(0, "2");
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
}

TEST(Admit, R39_EqualCountsAreTakenByWaitingTimeThenUid) {
  AdmitScene scene(1, "100");
  scene.rules().threshold_percent = 100;
  scene.wait("late", "1").wait("b", "1").wait("a", "1");
  scene.job("late").waiting_since = scene.now() - 1min;
  scene.job("b").waiting_since = scene.job("a").waiting_since = scene.now() - 5min;
  EXPECT_THAT(scene.starts(), ElementsAre("a", "b", "late"));
}

TEST(Admit, MembersMustFitOnNodesNotInTheSumOfThem) {
  AdmitScene scene(4, "10");
  for (int i = 0; i < 4; ++i) scene.used(i, "4");
  scene.wait("wide", "5", 0, 4).wait("whole", "7");
  scene.rules().threshold_percent = 100;
  EXPECT_THAT(scene.starts(), ElementsAre("wide"));
  EXPECT_EQ(scene.waits(), "whole fit: 0 of 1 members fit on the nodes, each asks for cpu 7");
  scene.job("wide").members = 5;
  EXPECT_THAT(scene.starts(), IsEmpty());
  EXPECT_EQ(scene.waits(),
            "whole fit: 0 of 1 members fit on the nodes, each asks for cpu 7; "
            "wide threshold: cpu: 16 of 40 in use, 25 more asked for");
}

TEST(Admit, WhatIsOnItsWayCountsAndTakesRoom) {
  AdmitScene scene(2, "10");
  scene.wait("a", "5");
  scene.question().in_flight = cpu("10");
  EXPECT_THAT(scene.starts(), IsEmpty());  // 15 of 14
  scene.question().in_flight = cpu("9");
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
  scene.wait("b", "1");
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
}

TEST(Admit, OrdinaryPodsThatWaitAreRespectedByDefault) {
  AdmitScene scene(1, "10");
  scene.wait("a", "5");
  scene.question().pending = cpu("3");
  EXPECT_THAT(scene.starts(), IsEmpty());
  scene.rules().respect_pending = false;
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
}

TEST(Admit, MemoryAndDevicesHaveTheirThresholdToo) {
  AdmitScene scene(1, "10");
  scene.question().nodes[0].allocatable["memory"] = *kube::Quantity::parse("10Gi");
  scene.question().nodes[0].allocatable["nvidia.com/gpu"] = *kube::Quantity::parse("4");
  scene.wait("a", "1").wait("b", "1").wait("c", "1");
  scene.job("a").member["memory"] = *kube::Quantity::parse("8Gi");
  scene.job("b").member["nvidia.com/gpu"] = *kube::Quantity::parse("3");
  EXPECT_THAT(scene.starts(), ElementsAre("c"));
  EXPECT_EQ(scene.waits(),
            "a threshold: memory: 0 of 7Gi in use, 8Gi more asked for; "
            "b threshold: nvidia.com/gpu: 0 of 2 in use, 3 more asked for");
  scene.question().nodes[0].used["memory"] = *kube::Quantity::parse("7681Mi");
  EXPECT_THAT(scene.starts(), IsEmpty());  // whoever asks for none does not start beside it either
}

TEST(Admit, R61_ANodeMayHaveAThresholdOfItsOwn) {
  AdmitScene scene(2, "10");
  scene.rules().scope = ThresholdScope::kNode;
  scene.used(0, "6");
  scene.wait("a", "2").wait("b", "6").wait("c", "1");
  const AdmitAnswer answer = scene.admit();
  ASSERT_EQ(answer.starts.size(), 2u);
  EXPECT_EQ(answer.starts[0].uid, "a");
  EXPECT_THAT(answer.starts[0].nodes, ElementsAre("n1"));
  EXPECT_EQ(answer.starts[1].uid, "c");
  EXPECT_THAT(answer.starts[1].nodes, ElementsAre("n0", "n1"));
  EXPECT_EQ(scene.waits(),
            "b threshold: 0 of 1 members find a node that stays within 70 % with cpu 6 more");
  // The cluster as a whole is above its threshold, a node is not.
  scene.used(0, "10").used(1, "5");
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
  scene.rules().scope = ThresholdScope::kBoth;
  EXPECT_THAT(scene.starts(), IsEmpty());
}

TEST(Admit, R61_TheCurrentUseOfANodeMayBeAskedForToo) {
  AdmitScene scene(1, "10");
  scene.rules().scope = ThresholdScope::kNode;
  scene.rules().mode = ThresholdMode::kCurrent;
  scene.wait("a", "3", 0, 3);
  EXPECT_THAT(scene.starts(), ElementsAre("a"));  // 0, 3, 6 are below 7
  scene.used(0, "1");
  EXPECT_THAT(scene.starts(), IsEmpty());  // 7 is not
  scene.job("a").members = 2;
  EXPECT_THAT(scene.starts(), ElementsAre("a"));
}

TEST(Admit, R61_AsManyNodesAreNamedAsAGangNeeds) {
  AdmitScene scene(400, "10");
  scene.rules().scope = ThresholdScope::kNode;
  scene.wait("a", "7", 0, 300);
  ASSERT_THAT(scene.starts(), ElementsAre("a"));
  EXPECT_EQ(scene.admit().starts[0].nodes.size(), 300U);
}

TEST(Admit, R62_ALauncherIsCountedAndPlacedBesideTheMembers) {
  AdmitScene scene(2, "10");
  scene.wait("a", "4", 0, 2);
  scene.job("a").beside = cpu("6");
  EXPECT_THAT(scene.starts(), ElementsAre("a")) << "14 of 14";
  scene.job("a").beside = cpu("6500m");
  EXPECT_EQ(scene.waits(), "a threshold: cpu: 0 of 14 in use, 14.5 more asked for");
  scene.rules().threshold_percent = 100;
  scene.job("a").members = 4;
  scene.job("a").beside = cpu("3");
  EXPECT_EQ(scene.waits(),
            "a fit: its members fit on the nodes, but not the launcher, which asks for cpu 3");
  scene.wait("b", "2", 0, 2);
  EXPECT_THAT(scene.starts(), ElementsAre("b")) << "what a did not take is there";
  scene.question().quotas["a"].most = cpu("5");
  scene.question().waiting = {scene.job("a")};
  scene.job("a").members = 1;
  EXPECT_EQ(scene.waits(), "a quota: namespace a: cpu 0 of 5 in use, 7 more asked for");
  scene.question().quotas.clear();
  scene.rules().scope = ThresholdScope::kNode;
  scene.used(0, "4");
  const AdmitAnswer answer = scene.admit();
  ASSERT_EQ(answer.starts.size(), 1U);
  EXPECT_THAT(answer.starts[0].nodes, ElementsAre("n0", "n1"));
}

TEST(Admit, NodesThatAJobMayGoToAreTheOnlyOnesLookedAt) {
  AdmitScene scene(2, "10");
  scene.used(1, "6");
  scene.wait("a", "5").wait("b", "4").wait("c", "1");
  scene.job("a").node_names = scene.job("b").node_names = {"n1"};
  scene.job("c").node_names = {"elsewhere"};
  EXPECT_THAT(scene.starts(), ElementsAre("b"));
  EXPECT_EQ(scene.waits(),
            "a fit: 0 of 1 members fit on the nodes, each asks for cpu 5; "
            "c fit: 0 of 1 members fit on the nodes, each asks for cpu 1");
}

TEST(Admit, R60_OverItsQuotaANamespaceWaitsAndOthersPass) {
  AdmitScene scene(10, "100");
  scene.wait("a1", "2").wait("a2", "2").wait("a3", "2").wait("b1", "2");
  scene.job("b1").ns = "b";
  scene.question().quotas["a"].count = 3;
  scene.question().running_count["a"] = 1;
  EXPECT_THAT(scene.starts(), ElementsAre("a1", "a2", "b1"));
  EXPECT_EQ(scene.waits(), "a3 quota: namespace a: 3 of 3 scavenger jobs run");
  scene.question().quotas["a"] = {.most = cpu("5")};
  scene.question().running["a"] = cpu("1");
  EXPECT_THAT(scene.starts(), ElementsAre("a1", "a2", "b1"));
  EXPECT_EQ(scene.waits(), "a3 quota: namespace a: cpu 5 of 5 in use, 2 more asked for");
}

TEST(Admit, R60_AQuotaOfGpusCountsThoseOfAnyVendor) {
  AdmitScene scene(2, "10");
  for (NodeRoom& node : scene.question().nodes)
    node.allocatable["amd.com/gpu"] = node.allocatable["nvidia.com/gpu"] = kube::Quantity::of(9);
  scene.wait("a1", "1").wait("a2", "1");
  scene.job("a1").member["amd.com/gpu"] = scene.job("a2").member["nvidia.com/gpu"] =
      kube::Quantity::of(2);
  scene.question().quotas["a"].most["gpu"] = kube::Quantity::of(3);
  EXPECT_THAT(scene.starts(), ElementsAre("a1"));
  EXPECT_EQ(scene.waits(), "a2 quota: namespace a: gpu 2 of 3 in use, 2 more asked for");
}

TEST(Admit, F16_WhoBacksOffIsPassedByUntilItsTime) {
  AdmitScene scene(1, "10");
  scene.wait("a", "1", 5).wait("b", "1");
  scene.job("a").not_before = scene.now() + 30s;
  const AdmitAnswer answer = scene.admit();
  ASSERT_EQ(answer.starts.size(), 1u);
  EXPECT_EQ(answer.starts[0].uid, "b");
  EXPECT_EQ(answer.look_again, scene.now() + 30s);
  scene.job("a").not_before = scene.now();
  EXPECT_THAT(scene.starts(), ElementsAre("a", "b"));
  EXPECT_EQ(scene.admit().look_again, std::nullopt);
}

TEST(Admit, MoreThanAreAllowedAtOnceComeNextTime) {
  AdmitScene scene(1, "100");
  for (int i = 0; i < 60; ++i) scene.wait(fmt::format("j{:02}", i), "1");
  const AdmitAnswer answer = scene.admit();
  EXPECT_EQ(answer.starts.size(), 50u);
  EXPECT_EQ(answer.look_again, scene.now());
  EXPECT_EQ(answer.waits.front().reason, WaitReason::kTurn);
  EXPECT_EQ(answer.waits.front().turn, 1);
  EXPECT_EQ(answer.waits.back().turn, 10);
}

TEST(Admit, R37_AgeingAddsToTheCountWithTime) {
  AdmitScene scene(1, "10");
  scene.wait("fresh", "7", 1).wait("old", "7");
  scene.job("fresh").waiting_since = scene.now();
  scene.job("old").waiting_since = scene.now() - 3h;
  EXPECT_THAT(scene.starts(), ElementsAre("fresh"));
  scene.rules().starvation = Starvation::kAging;
  EXPECT_THAT(scene.starts(), ElementsAre("old"));
  scene.rules().aging_every = 2h;  // one each: who has waited longer
  EXPECT_THAT(scene.starts(), ElementsAre("old"));
  scene.rules().aging_every = 4h;
  EXPECT_THAT(scene.starts(), ElementsAre("fresh"));
}

TEST(Admit, R37_AReservationKeepsNodesForWhoHasWaitedTooLong) {
  AdmitScene scene(3, "10");
  scene.rules().threshold_percent = 100;
  for (int i = 0; i < 3; ++i) scene.used(i, "5");
  scene.used(1, "3");
  scene.wait("big", "8", 1).wait("small", "2").wait("tiny", "1");
  scene.job("big").waiting_since = scene.now() - 11min;
  EXPECT_THAT(scene.starts(), ElementsAre("small", "tiny"));
  scene.rules().starvation = Starvation::kBackfillReservation;
  const AdmitAnswer answer = scene.admit();
  ASSERT_EQ(answer.starts.size(), 2u);  // 13 of 30, 8 kept: there is room beside it
  EXPECT_THAT(answer.starts[0].avoid, ElementsAre("n1"));
  scene.used(0, "10").used(2, "10");  // only the node that is kept has room
  EXPECT_THAT(scene.starts(), IsEmpty());
  EXPECT_EQ(scene.waits(),
            "big threshold: cpu: 23 of 30 in use, 8 more asked for; "
            "small reserved: room is kept for a/big, which has waited longer; "
            "tiny reserved: room is kept for a/big, which has waited longer");
  scene.job("big").waiting_since = scene.now() - 10min;  // not yet
  EXPECT_THAT(scene.starts(), ElementsAre("small", "tiny"));
}

TEST(Admit, R37_AReservationAlsoKeepsItsPartOfTheThreshold) {
  AdmitScene scene(10, "10");
  scene.rules().starvation = Starvation::kBackfillReservation;
  for (int i = 0; i < 9; ++i) scene.used(i, "7");
  scene.wait("big", "8", 1).wait("small", "1");
  scene.job("big").waiting_since = scene.now() - 1h;
  EXPECT_THAT(scene.starts(), IsEmpty());  // 63 + 8 > 70, and small must leave it the last 7
  EXPECT_THAT(scene.waits(), testing::HasSubstr("small reserved"));
}

TEST(Admit, R37_WhoCanNeverRunKeepsNothing) {
  AdmitScene scene(3, "10");
  scene.rules().starvation = Starvation::kBackfillReservation;
  scene.wait("giant", "11", 9).wait("wide", "5", 8, 5).wait("small", "1");
  scene.job("giant").waiting_since = scene.job("wide").waiting_since = scene.now() - 24h;
  EXPECT_THAT(scene.starts(), ElementsAre("small"));
}

TEST(Admit, F18_TheUserWithTheSmallestShareComesFirst) {
  AdmitScene scene(1, "10");
  scene.wait("a1", "3", 9).wait("a2", "3", 9).wait("b1", "3").wait("b2", "3", 1);
  scene.job("a1").user = scene.job("a2").user = "ann";
  scene.job("b1").user = scene.job("b2").user = "bob";
  EXPECT_THAT(scene.starts(), ElementsAre("a1", "a2"));
  scene.rules().fair_shares = true;
  scene.question().shares = {{"ann", 100}, {"bob", 5}};
  EXPECT_THAT(scene.starts(), ElementsAre("b2", "b1"));  // by the count within the user
  scene.question().shares = {};
  EXPECT_THAT(scene.starts(), ElementsAre("a1", "b2"));  // one each: a start is charged
  scene.rules().threshold_percent = 100;
  scene.question().weights = {{"bob", 4}};
  EXPECT_THAT(scene.starts(), ElementsAre("a1", "b2", "b1"));
}

TEST(Admit, F14_TheThresholdAdaptsToHowMuchOrdinaryUseVaries) {
  AdmitScene scene(1, "10");
  scene.rules().adaptive_reserve_percent = 10;
  EXPECT_EQ(scene.admit().threshold_percent, 70);  // never above the fixed one
  scene.question().ordinary_stdev_percent = 24.2;
  EXPECT_EQ(scene.admit().threshold_percent, 65);
  scene.question().ordinary_stdev_percent = 1e9;
  EXPECT_EQ(scene.admit().threshold_percent, 0);
}

TEST(Admit, WithoutNodesNothingStarts) {
  AdmitScene scene(0, "0");
  scene.wait("a", "1");
  EXPECT_THAT(scene.starts(), IsEmpty());
  EXPECT_EQ(scene.waits(), "a threshold: no node is ready");
}

}  // namespace
}  // namespace berth::scavenge
