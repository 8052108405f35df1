// SPDX-License-Identifier: Apache-2.0
// Pods that PreEnqueue plugins hold back.
#include "scheduler/queue/queue_test_lab_for_test.h"

namespace berth::scheduler::test {
namespace {

class GatedPods : public QueueTest {};

TEST_F(GatedPods, AGatedPodWaitsInThePoolAndIsCountedApart) {
  closed = {"a"};
  add(pod("a"));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_TRUE(info("a").gated());
  EXPECT_EQ(info("a").gating_plugin, kGate);
  EXPECT_EQ(info("a").gating_events.size(), 1u);
  EXPECT_EQ(info("a").initial_attempt_timestamp, std::nullopt);
  EXPECT_EQ(pending(QueueName::kGated), 1);
  EXPECT_EQ(pending(QueueName::kUnschedulable), 0);
  EXPECT_EQ(unschedulable(kGate), 1);
  EXPECT_EQ(incoming(QueueName::kUnschedulable, "UnschedulablePodAdd"), 1);
}

TEST_F(GatedPods, ThePodIsReleasedByTheEventItsPluginWaitsFor) {
  closed2 = {"a"};
  add(pod("a"));
  closed2 = {};
  queue->move_all(claim_added());
  EXPECT_EQ(where("a"), Place::kActive);  // never tried, so no backoff
  EXPECT_EQ(pending(QueueName::kGated), 0);
}

TEST_F(GatedPods, EventsThatTheGatingPluginDoesNotWaitForAreNotLookedAt) {
  closed2 = {"a"};
  add(pod("a"));
  closed2 = {};
  const int calls = gate2.calls;
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(gate2.calls, calls);
}

TEST_F(GatedPods, AWildcardAsksThePluginAgain) {
  closed = {"a", "b"};
  add(pod("a"));
  add(pod("b"));
  closed = {"b"};
  queue->move_all(everything());
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(where("b"), Place::kUnschedulable);
  EXPECT_EQ(pending(QueueName::kGated), 1);
}

TEST_F(GatedPods, EliminatedGatesReleaseThePod) {
  const PodPtr before = pod("a").gated();
  closed = {"a"};
  add(before);
  closed = {};
  update(before, pod("a"));
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(incoming(QueueName::kActive, "UnschedulablePodUpdatePodSchedulingGatesEliminated"), 1);
}

TEST_F(GatedPods, AnUpdateThatOpensNoGateKeepsThePodGated) {
  const PodPtr before = pod("a").gated();
  closed = {"a"};
  add(before);
  update(before, pod("a"));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_TRUE(info("a").gated());
  EXPECT_EQ(pending(QueueName::kGated), 1);
}

TEST_F(GatedPods, TheGatingPluginIsAskedFirst) {
  closed2 = {"a"};
  add(pod("a"));
  const int calls = gate.calls;
  queue->move_all(claim_added());
  EXPECT_EQ(gate.calls, calls);  // the second one said no again; the first was not asked
}

TEST_F(GatedPods, AnotherPluginMayTakeOver) {
  closed2 = {"a"};
  add(pod("a"));
  closed2 = {};
  closed = {"a"};
  queue->move_all(claim_added());
  EXPECT_EQ(info("a").gating_plugin, kGate);
  EXPECT_EQ(unschedulable(kGate), 1);
  EXPECT_EQ(unschedulable(kGate2), 1);
  closed = {};
  queue->move_all(everything());
  const QueuedPodPtr popped = queue->pop();
  EXPECT_EQ(unschedulable(kGate), 0);
  EXPECT_EQ(unschedulable(kGate2), 0);
}

TEST_F(GatedPods, APluginThatSaysNoAgainIsCountedOnce) {
  closed = {"a"};
  add(pod("a"));
  queue->move_all(everything());
  queue->move_all(everything());
  EXPECT_EQ(unschedulable(kGate), 1);
  EXPECT_EQ(pending(QueueName::kGated), 1);
}

TEST_F(GatedPods, ARemovedGatedPodLeavesNoTrace) {
  closed = {"a"};
  const PodPtr a = pod("a");
  add(a);
  queue->remove(*a);
  EXPECT_EQ(unschedulable(kGate), 0);
  EXPECT_EQ(pending(QueueName::kGated), 0);
}

TEST_F(GatedPods, APodMayBecomeGatedAfterAFailure) {
  refused(pod("a"), {kFit});
  closed = {"a"};
  clock.advance(20s);
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(pending(QueueName::kGated), 1);
  EXPECT_EQ(pending(QueueName::kUnschedulable), 0);
  closed = {};
  queue->move_all(everything());
  EXPECT_EQ(pending(QueueName::kGated), 0);
  EXPECT_EQ(pending(QueueName::kActive), 1);
}

TEST_F(GatedPods, AFailedAttemptClearsTheGate) {
  closed = {"a"};
  add(pod("a"));
  closed = {};
  queue->move_all(everything());
  fail(queue->pop(), {kFit});
  EXPECT_FALSE(info("a").gated());
  EXPECT_FALSE(info("a").unschedulable_plugins.has(kGate));
}

TEST_F(GatedPods, TheFlushMarkIsTakenFromAPodThatStaysGated) {
  closed = {"a"};
  add(pod("a"));
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_FALSE(info("a").was_flushed);
  EXPECT_EQ(info("a").flush_timestamp, clock.now());
}

TEST_F(GatedPods, TheFlushMarkStaysOnAPodThatIsReleased) {
  closed = {"a"};
  add(pod("a"));
  closed = {};
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_TRUE(info("a").was_flushed);
}

TEST_F(GatedPods, AGatedPodIsFlushedEveryFiveMinutesNotEveryThirtySeconds) {
  closed = {"a"};
  add(pod("a"));
  clock.advance(301s);
  queue->flush_unschedulable_leftover();
  const int calls = gate.calls;
  clock.advance(30s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(gate.calls, calls);
  clock.advance(271s);
  queue->flush_unschedulable_leftover();
  EXPECT_EQ(gate.calls, calls + 1);
}

TEST_F(GatedPods, APodThatWentToBackoffStaysThereThoughTheNextEventFindsItGated) {
  make({.pop_from_backoff = false});
  const PodPtr before = pod("a");
  refused(before, {kAffinity}, {kTolerations});
  closed = {"a"};
  update(before, pod("a").app("new").tolerations(1));
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(pending(QueueName::kBackoff), 1);
  EXPECT_EQ(pending(QueueName::kGated), 0);
  pass(3s);
  EXPECT_EQ(where("a"), Place::kUnschedulable);
}

TEST_F(GatedPods, AddingAGatedPodAgainDoesNotDisturbTheOneInActive) {
  const PodPtr a = pod("a");
  add(a);
  closed = {"a"};
  queue->add(pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(info("a").pod, a);
}

}  // namespace
}  // namespace berth::scheduler::test
