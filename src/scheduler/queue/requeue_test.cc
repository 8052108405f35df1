// SPDX-License-Identifier: Apache-2.0
// What wakes a waiting pod, and where it goes then.
#include "scheduler/queue/queue_test_lab_for_test.h"

namespace berth::scheduler::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Requeue : public QueueTest {};

TEST_F(Requeue, ARefusedPodWaitsInThePool) {
  refused(pod("a"), {kFit});
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(info("a").unschedulable_count, 1);
  EXPECT_EQ(pop(), "");
}

TEST_F(Requeue, AnErrorGoesToBackoffAtOnce) {
  refused(pod("a"), {});
  EXPECT_EQ(where("a"), Place::kErrorBackoff);
  EXPECT_EQ(info("a").consecutive_errors_count, 1);
  EXPECT_EQ(info("a").unschedulable_count, 0);
}

TEST_F(Requeue, AnEventThatHelpsMovesThePodToBackoffWhileItBacksOff) {
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(incoming(QueueName::kBackoff, "NodeAdd"), 1);
}

TEST_F(Requeue, AnEventThatHelpsMovesThePodToActiveOnceItsBackoffIsOver) {
  refused(pod("a"), {kFit});
  clock.advance(3s);
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, AHintThatSaysSkipLeavesThePod) {
  fit = Hint::kSkip;
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ((seen.hints[{kFit, HintResult::kSkip}]), 1);
}

TEST_F(Requeue, AHintThatCannotTellCountsAsYes) {
  fit = Hint::kError;
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ((seen.hints[{kFit, HintResult::kError}]), 1);
}

TEST_F(Requeue, OnlyThePluginsThatRefusedThePodAreAsked) {
  refused(pod("a"), {kVolumes});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_THAT(asked_about, IsEmpty());
  queue->move_all(claim_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, OneYesOfSeveralRefusersIsEnough) {
  fit = Hint::kSkip;
  refused(pod("a"), {kFit, kAffinity});
  queue->move_all(pod_bound(pod("other").on("n1")));
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, AYesOfAPendingPluginSkipsBackoff) {
  refused(pod("a"), {}, {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, AYesOfAnOrdinaryPluginDoesNotSkipBackoffThoughAnotherIsPending) {
  refused(pod("a"), {kFit}, {kVolumes});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, APluginThatWaitsForNothingIsWokenByTheTimeoutOnly) {
  refused(pod("a"), {kSilent});
  for (const Change& change : {node_added(), node_tainted(), claim_added()})
    queue->move_all(change);
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, WhoeverWaitsForNewNodesHearsOfTaintsWithoutBeingAsked) {
  fit = Hint::kSkip;
  refused(pod("a"), {kFit});
  queue->move_all(node_tainted());
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_THAT(asked_about, IsEmpty());
}

TEST_F(Requeue, AnEventThatNobodyRegisteredCostsNothingAndIsNotRemembered) {
  refused(pod("a"), {kFit});
  add(pod("flying"));
  const QueuedPodPtr flying = queue->pop();
  bool checked = false;
  queue->move_all(slice_added(), [&](const Pod&) { return checked = true; });
  EXPECT_FALSE(checked);
  EXPECT_EQ(queue->in_flight_events(), 0u);
}

TEST_F(Requeue, ExtendersWaitForEverythingInTheListOfAllEvents) {
  make({}, kExtenders);
  refused(pod("a"), {kExtenders});
  queue->move_all(slice_added());  // not in the list
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  queue->move_all({.event = {EventResource::kCsiDriver, action::kAdd}});
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST(RequeueTable, APluginThatDoesNotSayGetsTheWholeList) {
  const RequeueTable table({{"p", {}, {{kFit, std::nullopt}}}}, PluginId::kNone);
  EXPECT_EQ(table.events_of(kFit).size(), 10u);
  EXPECT_TRUE(table.kind({EventResource::kDeviceClass, action::kAdd}).of_interest);
  EXPECT_FALSE(table.kind({EventResource::kVolumeAttachment, action::kAdd}).of_interest);
}

TEST(RequeueTable, ImpliesTaintsOnlyWhereNewNodesAreWantedAndTaintsAreNot) {
  struct Row {
    const char* name;
    std::vector<EventInterest> events;
    std::size_t expected;
  };
  for (const Row& row :
       {Row{"new nodes", {{{EventResource::kNode, action::kAdd}}}, 2},
        Row{"both", {{{EventResource::kNode, action::kAdd | action::kUpdateNodeTaint}}}, 1},
        Row{"both, apart",
            {{{EventResource::kNode, action::kAdd}},
             {{EventResource::kNode, action::kUpdateNodeTaint}}},
            2},
        Row{"labels", {{{EventResource::kNode, action::kUpdateNodeLabel}}}, 1},
        Row{"new pods", {{{EventResource::kPod, action::kAdd}}}, 1}}) {
    const RequeueTable table({{"p", {}, {{kFit, row.events}}}}, PluginId::kNone);
    EXPECT_EQ(table.events_of(kFit).size(), row.expected) << row.name;
  }
}

TEST(RequeueTable, EventsOfAPluginAreGatheredOverAllProfiles) {
  const RequeueTable table(
      {{"p", {}, {{kFit, {{{{EventResource::kPod, action::kAdd}, nullptr}}}}}},
       {"q", {}, {{kFit, {{{{EventResource::kPod, action::kDelete}, nullptr}}}}}}},
      PluginId::kNone);
  EXPECT_EQ(table.events_of(kFit).size(), 2u);
}

TEST_F(Requeue, APodOfAnUnknownProfileIsWokenByAnything) {
  refused(pod("a").scheduler("nobody"), {kVolumes});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, AWildcardMovesEveryPodWhateverItsHints) {
  fit = Hint::kSkip;
  refused(pod("a"), {kFit});
  refused(pod("b"), {kSilent});
  queue->move_all(everything());
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(where("b"), Place::kBackoff);
  EXPECT_THAT(asked_about, IsEmpty());
}

TEST_F(Requeue, AWildcardWithAPodIsMeantForThatPod) {
  refused(pod("a"), {kSilent});
  refused(pod("b"), {kSilent});
  queue->move_all(everything(pod("b")));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(where("b"), Place::kBackoff);
}

TEST_F(Requeue, AWildcardForAPodOfTheSameNameIsNotForThisOne) {
  refused(pod("a"), {kSilent});
  queue->move_all(everything(pod("a").uid("an earlier one")));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
}

TEST_F(Requeue, PodsThatThePreCheckRefusesAreNeitherAskedNorMoved) {
  refused(pod("low").priority(1), {kFit});
  refused(pod("high").priority(5), {kFit});
  queue->move_all(pod_gone(pod("x").priority(3)),
                  [](const Pod& waiting) { return waiting.priority() <= 3; });
  EXPECT_EQ(where("low"), Place::kBackoff);
  EXPECT_EQ(where("high"), Place::kUnschedulable);
  EXPECT_THAT(asked_about, ElementsAre("low"));
}

// Groups.

TEST_F(Requeue, PodsAlikeAreAskedOnceAndMoveInTheOrderInWhichTheyCame) {
  for (const char* name : {"c", "a", "d", "b"}) refused(pod(name), {kFit});
  EXPECT_EQ(queue->wait_groups(), 1u);
  seen.story.clear();
  queue->move_all(node_added());
  EXPECT_THAT(asked_about, testing::SizeIs(1));
  EXPECT_THAT(seen.story, ElementsAre("c: Unschedulable -> Backoff by NodeAdd",
                                      "a: Unschedulable -> Backoff by NodeAdd",
                                      "d: Unschedulable -> Backoff by NodeAdd",
                                      "b: Unschedulable -> Backoff by NodeAdd"));
  EXPECT_EQ(queue->wait_groups(), 0u);
}

TEST_F(Requeue, PodsOfSeveralGroupsMoveInTheOrderInWhichTheyCame) {
  refused(pod("z").app("x"), {kFit});
  refused(pod("m").app("y"), {kFit});
  refused(pod("a").app("x"), {kFit});
  EXPECT_EQ(queue->wait_groups(), 2u);
  seen.story.clear();
  queue->move_all(node_added());
  EXPECT_THAT(seen.story, ElementsAre(testing::StartsWith("z"), testing::StartsWith("m"),
                                      testing::StartsWith("a")));
}

TEST_F(Requeue, GroupsDifferByWhateverAHintMayLookAt) {
  refused(pod("a"), {kFit});
  refused(pod("b").app("x"), {kFit});
  refused(pod("c").ns("elsewhere"), {kFit});
  refused(pod("d").priority(1), {kFit});
  refused(pod("e"), {kFit, kVolumes});
  refused(pod("f"), {kFit}, {kVolumes});
  EXPECT_EQ(queue->wait_groups(), 6u);
}

TEST_F(Requeue, PodsWithVolumesAreAskedOneByOne) {
  for (const char* name : {"a", "b"}) refused(pod(name).volumes(), {kFit});
  queue->move_all(node_added());
  EXPECT_THAT(asked_about, testing::UnorderedElementsAre("a", "b"));
}

TEST_F(Requeue, ThePodThatAnEventIsAboutIsAskedByItself) {
  for (const char* name : {"a", "b", "c"}) refused(pod(name), {kAffinity});
  queue->move_all({.event = {EventResource::kUnscheduledPod, action::kAdd}, .pod_after = pod("b")});
  EXPECT_THAT(asked_about, testing::SizeIs(2));
  EXPECT_THAT(asked_about, testing::Contains("b"));
}

TEST_F(Requeue, EachPodOfAGroupKeepsItsOwnBackoff) {
  refused(pod("early"), {kFit});
  clock.advance(1500ms);
  refused(pod("late"), {kFit});
  clock.advance(500ms);
  queue->move_all(node_added());
  EXPECT_EQ(where("early"), Place::kActive);
  EXPECT_EQ(where("late"), Place::kBackoff);
}

// While a pod is being tried.

TEST_F(Requeue, AnEventDuringTheAttemptCounts) {
  add(pod("a"));
  QueuedPodPtr popped = queue->pop();
  queue->move_all(node_added());
  fail(std::move(popped), {kFit});
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(incoming(QueueName::kBackoff, "ScheduleAttemptFailure"), 1);
}

TEST_F(Requeue, AnEventBeforeTheAttemptDoesNot) {
  add(pod("a"));
  add(pod("flying").priority(1));
  const QueuedPodPtr flying = queue->pop();  // so that events are kept
  queue->move_all(node_added());
  fail(queue->pop(), {kFit});
  EXPECT_EQ(where("a"), Place::kUnschedulable);
}

TEST_F(Requeue, AnEventDuringTheAttemptThatDoesNotHelpLeavesThePodToWait) {
  add(pod("a"));
  QueuedPodPtr popped = queue->pop();
  queue->move_all(claim_added());
  fail(std::move(popped), {kFit});
  EXPECT_EQ(where("a"), Place::kUnschedulable);
}

TEST_F(Requeue, AYesOfAPendingPluginDuringTheAttemptSkipsBackoffThoughAnotherCameFirst) {
  add(pod("a"));
  QueuedPodPtr popped = queue->pop();
  queue->move_all(node_added());
  queue->move_all(claim_added());
  fail(std::move(popped), {kFit}, {kVolumes});
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, AnUpdateOfAPodInFlightIsReplayedWhenItComesBack) {
  const PodPtr before = pod("a");
  add(before);
  QueuedPodPtr popped = queue->pop();
  update(before, pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kNowhere);
  EXPECT_EQ(seen.counts.in_flight_events["UnschedulablePodUpdatePodLabel"], 1);
  fail(std::move(popped), {kAffinity});
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(seen.counts.in_flight_events["UnschedulablePodUpdatePodLabel"], 0);
}

TEST_F(Requeue, APodThatIsNoLongerInFlightComesBackToBackoff) {
  add(pod("a"));
  QueuedPodPtr popped = queue->pop();
  queue->done("a-uid");
  fail(std::move(popped), {kSilent});
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, EventsAreKeptAsLongAsTheOldestAttemptNeedsThem) {
  for (const char* name : {"a", "b", "c"}) {
    add(pod(name));
    clock.advance(1ms);
  }
  QueuedPodPtr a = queue->pop();
  queue->move_all(node_added());
  QueuedPodPtr b = queue->pop();
  queue->move_all(claim_added());
  QueuedPodPtr c = queue->pop();
  EXPECT_EQ(queue->in_flight_events(), 2u);
  queue->done("b-uid");
  EXPECT_EQ(queue->in_flight_events(), 2u);
  fail(std::move(a), {kFit});
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(queue->in_flight_events(), 0u);  // c was popped after both
  fail(std::move(c), {kVolumes});
  EXPECT_EQ(where("c"), Place::kUnschedulable);
}

TEST_F(Requeue, NoEventIsKeptWhileNothingIsInFlight) {
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(queue->in_flight_events(), 0u);
}

// Activation.

TEST_F(Requeue, ActivationTakesAPodFromThePoolPastItsBackoff) {
  const PodPtr a = pod("a");
  refused(a, {kSilent});
  queue->activate(std::vector{a});
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(incoming(QueueName::kActive, "ForceActivate"), 1);
}

TEST_F(Requeue, ActivationTakesAPodFromBackoffWithoutPreEnqueue) {
  const PodPtr a = pod("a");
  refused(a, {});
  closed = {"a"};
  queue->activate(std::vector{a});
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, ActivationOfAGatedPodLeavesItGated) {
  const PodPtr a = pod("a");
  closed = {"a"};
  add(a);
  queue->activate(std::vector{a});
  EXPECT_EQ(where("a"), Place::kUnschedulable);
}

TEST_F(Requeue, ActivationOfAPodInActiveChangesNothing) {
  const PodPtr a = pod("a");
  add(a);
  queue->activate(std::vector{a});
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(incoming(QueueName::kActive, "ForceActivate"), 0);
}

TEST_F(Requeue, ActivationOfAnUnknownPodChangesNothing) {
  queue->activate(std::vector<PodPtr>{pod("a")});
  EXPECT_EQ(where("a"), Place::kNowhere);
}

TEST_F(Requeue, ActivationDuringTheAttemptCountsForThatPodAlone) {
  const PodPtr a = pod("a");
  add(a);
  add(pod("b"));
  QueuedPodPtr first = queue->pop();
  QueuedPodPtr second = queue->pop();
  queue->activate(std::vector{a});
  fail(std::move(first), {kSilent});
  fail(std::move(second), {kSilent});
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(where("b"), Place::kUnschedulable);
}

// Updates of waiting pods.

TEST_F(Requeue, AnUpdateThatHelpsMovesAWaitingPod) {
  const PodPtr before = pod("a");
  refused(before, {kAffinity});
  update(before, pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(incoming(QueueName::kBackoff, "UnschedulablePodUpdatePodLabel"), 1);
}

TEST_F(Requeue, AnUpdateThatHelpsMovesAWaitingPodToActiveAfterItsBackoff) {
  const PodPtr before = pod("a");
  refused(before, {kAffinity});
  clock.advance(5s);
  update(before, pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, AnUpdateThatDoesNotHelpLeavesThePodWaitingInItsNewGroup) {
  const PodPtr before = pod("a");
  refused(before, {kFit});
  refused(pod("b"), {kFit});
  update(before, pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(queue->wait_groups(), 2u);
  EXPECT_EQ(incoming(QueueName::kUnschedulable, "UnschedulablePodUpdatePodLabel"), 0);
}

TEST_F(Requeue, AnUpdateStopsAtTheFirstEventThatHelps) {
  const PodPtr before = pod("a");
  refused(before, {kAffinity, kGate});
  update(before, pod("a").app("new").tolerations(1));
  EXPECT_EQ(incoming(QueueName::kBackoff, "UnschedulablePodUpdatePodLabel"), 1);
  EXPECT_EQ(where("a"), Place::kBackoff);
}

TEST_F(Requeue, ARemovedPodLeavesThePoolAndItsGauge) {
  const PodPtr a = pod("a");
  refused(a, {kFit, kVolumes});
  EXPECT_EQ(unschedulable(kFit), 1);
  EXPECT_EQ(unschedulable(kVolumes), 1);
  queue->remove(*a);
  EXPECT_EQ(unschedulable(kFit), 0);
  EXPECT_EQ(unschedulable(kVolumes), 0);
  EXPECT_EQ(queue->wait_groups(), 0u);
}

// After five minutes.

TEST_F(Requeue, AFlushedPodIsMarkedUntilItsNextFailure) {
  refused(pod("a"), {kSilent});
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  EXPECT_TRUE(info("a").was_flushed);
  EXPECT_EQ(info("a").flush_timestamp, clock.now());
  EXPECT_EQ(incoming(QueueName::kActive, "UnschedulableTimeout"), 1);
  QueuedPodPtr popped = queue->pop();
  EXPECT_TRUE(popped->was_flushed);
  fail(std::move(popped), {kSilent});
  EXPECT_FALSE(info("a").was_flushed);
  EXPECT_EQ(info("a").flush_timestamp, std::nullopt);
}

TEST_F(Requeue, AFlushIsAnEventForPodsInFlight) {
  refused(pod("a"), {kSilent});
  add(pod("b"));
  QueuedPodPtr flying = queue->pop();
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  fail(std::move(flying), {kSilent});
  EXPECT_EQ(where("b"), Place::kBackoff);
}

TEST_F(Requeue, TheTimeInThePoolIsConfigurable) {
  make({.max_in_unschedulable = 30s});
  refused(pod("a"), {kSilent});
  clock.advance(31s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Requeue, PodsRefusedAreCountedUntilTheyArePopped) {
  refused(pod("a"), {kFit});
  EXPECT_EQ(unschedulable(kFit), 1);
  clock.advance(20s);
  queue->move_all(node_added());
  EXPECT_EQ(unschedulable(kFit), 1);  // in activeQ, still
  const QueuedPodPtr popped = queue->pop();
  EXPECT_EQ(unschedulable(kFit), 0);
  EXPECT_TRUE(popped->unschedulable_plugins.has(kFit));  // for whoever logs it
}

TEST_F(Requeue, APodDeletedFromActiveStaysInTheGaugeAsInKubernetes) {
  const PodPtr a = pod("a");
  refused(a, {kFit});
  clock.advance(20s);
  queue->move_all(node_added());
  queue->remove(*a);
  EXPECT_EQ(unschedulable(kFit), 1);
}

}  // namespace
}  // namespace berth::scheduler::test
