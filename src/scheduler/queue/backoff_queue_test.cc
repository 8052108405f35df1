// SPDX-License-Identifier: Apache-2.0
// How long a pod that failed waits, and in what order such pods return.
#include "base/scope.h"
#include "base/world.h"
#include "scheduler/queue/queue_test_lab_for_test.h"

namespace berth::scheduler::test {
namespace {

using testing::ElementsAre;

class Backoff : public QueueTest {
 protected:
  // Fails the pod that is popped next and tells how long it is kept, by flushing each second.
  int seconds_until_back(PluginSet rejectors) {
    QueuedPodPtr popped = queue->pop();
    const std::string name = popped->pod->name;
    fail(std::move(popped), rejectors);
    queue->move_all(node_added());
    for (int waited = 0; waited < 60; ++waited) {
      if (where(name) == Place::kActive) return waited;
      pass(1s);
    }
    return -1;
  }
};

TEST_F(Backoff, DoublesUntilTenSeconds) {
  add(pod("a"));
  std::vector<int> waits;
  for (int i = 0; i < 6; ++i) waits.push_back(seconds_until_back({kFit}));
  // Of 1, 2, 4, 8, 10, 10 seconds, and one more because the window of its end counts in full.
  EXPECT_THAT(waits, ElementsAre(2, 3, 5, 9, 11, 11));
}

TEST_F(Backoff, OfErrorsDoublesByItself) {
  add(pod("a"));
  std::vector<int> waits;
  for (int i = 0; i < 3; ++i) waits.push_back(seconds_until_back({}));
  EXPECT_THAT(waits, ElementsAre(2, 3, 5));
}

TEST_F(Backoff, AnErrorAfterRefusalsStartsAtOneSecondAndRefusalsGoOnWhereTheyWere) {
  add(pod("a"));
  seconds_until_back({kFit});
  seconds_until_back({kFit});
  EXPECT_EQ(seconds_until_back({}), 2);
  EXPECT_EQ(info("a").consecutive_errors_count, 1);
  EXPECT_EQ(info("a").unschedulable_count, 2);
  EXPECT_EQ(seconds_until_back({kFit}), 5);  // the third refusal: 4 s
  EXPECT_EQ(info("a").consecutive_errors_count, 0);
}

TEST_F(Backoff, EndsAtAWholeSecond) {
  clock.advance(700ms);
  add(pod("a"));
  fail(queue->pop(), {});
  // 0.7 s + 1 s = 1.7 s, which is the window of second 1: free when second 2 begins.
  pass(1200ms);
  EXPECT_EQ(where("a"), Place::kErrorBackoff);
  pass(100ms);
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Backoff, WithoutPoppingFromBackoffEndsToTheNanosecond) {
  make({.pop_from_backoff = false});
  clock.advance(700ms);
  add(pod("a"));
  fail(queue->pop(), {});
  pass(1s);
  EXPECT_EQ(where("a"), Place::kErrorBackoff);  // to the very moment it still counts
  pass(1ns);
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST(BackoffDuration, GrowsAsConfigured) {
  ManualClock clock;
  ByPriority sort;
  struct Row {
    const char* name;
    Duration initial, max;
    int count;
    Duration expected;
  };
  for (const Row& row :
       {Row{"none yet", 1s, 10s, 0, 0s}, Row{"first", 1s, 10s, 1, 1s}, Row{"third", 1s, 10s, 3, 4s},
        Row{"fourth", 1s, 10s, 4, 8s}, Row{"fifth is cut", 1s, 10s, 5, 10s},
        Row{"60th", 1s, 32s, 60, 32s}, Row{"64th", 1s, 10s, 64, 10s},
        Row{"1000th", 1s, 10s, 1000, 10s}, Row{"initial above max", 20s, 10s, 1, 10s},
        Row{"no initial", 0s, 10s, 5, 0s}, Row{"no initial, often", 0s, 10s, 99, 0s},
        Row{"exact power", 1s, 16s, 5, 16s}}) {
    const BackoffQueue backoff(clock, {.initial_backoff = row.initial, .max_backoff = row.max},
                               sort);
    EXPECT_EQ(backoff.duration(row.count), row.expected) << row.name;
  }
}

TEST_F(Backoff, IsOffWhenItsMaximumIsZero) {
  make({.max_backoff = 0s});
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(Backoff, ThePodIsPoppedEarlyWhenActiveIsEmpty) {
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  ASSERT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(pop(), "a");
  EXPECT_EQ(incoming(QueueName::kActive, "PopFromBackoffQ"), 1);
}

TEST_F(Backoff, APodThatFailedByAnErrorIsNeverPoppedEarly) {
  refused(pod("a"), {});
  EXPECT_EQ(where("a"), Place::kErrorBackoff);
  EXPECT_EQ(pop(), "");
}

TEST_F(Backoff, ActiveComesBeforeBackoffWhateverThePriority) {
  refused(pod("urgent").priority(100), {kFit});
  queue->move_all(node_added());
  add(pod("calm"));
  EXPECT_EQ(pop(), "calm");
  EXPECT_EQ(pop(), "urgent");
}

TEST_F(Backoff, NothingIsPoppedEarlyWhereThatIsOff) {
  make({.pop_from_backoff = false});
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(pop(), "");
}

TEST_F(Backoff, WithinASecondPriorityDecidesWhoIsPoppedEarly) {
  refused(pod("low").priority(1), {kFit});
  clock.advance(300ms);
  refused(pod("high").priority(2), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(pop(), "high");
  EXPECT_EQ(pop(), "low");
}

TEST_F(Backoff, AnEarlierSecondComesBeforeAHigherPriority) {
  refused(pod("low").priority(1), {kFit});
  clock.advance(1s);
  refused(pod("high").priority(2), {kFit});
  queue->move_all(node_added());
  EXPECT_EQ(pop(), "low");
}

TEST_F(Backoff, RefusedPodsAreFlushedBeforeFailedOnes) {
  refused(pod("failed"), {});
  refused(pod("refused"), {kFit});
  queue->move_all(node_added());
  seen.story.clear();
  pass(3s);
  EXPECT_THAT(seen.story, ElementsAre("refused: Backoff -> Active by BackoffComplete",
                                      "failed: ErrorBackoff -> Active by BackoffComplete"));
}

TEST_F(Backoff, AnUpdateLeavesThePodThere) {
  const PodPtr before = pod("a");
  refused(before, {kFit});
  queue->move_all(node_added());
  const PodPtr after = pod("a").app("new");
  update(before, after);
  EXPECT_EQ(where("a"), Place::kBackoff);
  EXPECT_EQ(info("a").pod, after);
}

TEST_F(Backoff, AnUpdateReordersPodsOfTheSameSecond) {
  const PodPtr before = pod("a").priority(1);
  refused(before, {kFit});
  refused(pod("b").priority(2), {kFit});
  queue->move_all(node_added());
  update(before, pod("a").priority(3));
  EXPECT_EQ(pop(), "a");
}

TEST_F(Backoff, ARemovedPodIsGone) {
  const PodPtr a = pod("a");
  refused(a, {});
  queue->remove(*a);
  pass(20s);
  EXPECT_EQ(pop(), "");
  EXPECT_EQ(pending(QueueName::kBackoff), 0);
}

TEST_F(Backoff, PreEnqueueIsAskedOnTheWayInAndNotOnTheWayOut) {
  refused(pod("a"), {kFit});
  queue->move_all(node_added());
  ASSERT_EQ(where("a"), Place::kBackoff);
  closed = {"a"};
  const int calls = gate.calls;
  pass(3s);
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(gate.calls, calls);
}

TEST_F(Backoff, PreEnqueueIsAskedOnTheWayOutWherePoppingEarlyIsOff) {
  make({.pop_from_backoff = false});
  refused(pod("a"), {kFit});
  closed = {"a"};
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kBackoff);
  pass(3s);
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_TRUE(info("a").gated());
}

TEST_F(Backoff, APodGatedOnTheWayInGoesToThePool) {
  refused(pod("a"), {kFit});
  closed = {"a"};
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  EXPECT_EQ(pending(QueueName::kGated), 1);
  EXPECT_EQ(pending(QueueName::kUnschedulable), 0);
}

TEST_F(Backoff, ARefusedPodOfHighPriorityDoesNotStarveTheOthers) {
  add(pod("high").priority(10));
  fail(queue->pop(), {kFit});
  queue->move_all(node_added());
  add(pod("low"));
  EXPECT_EQ(pop(), "low");
}

TEST_F(Backoff, AmongEqualsAPodThatWasTriedGoesBehindNewerOnes) {
  add(pod("tried"));
  clock.advance(1s);
  add(pod("newer"));
  clock.advance(1s);
  QueuedPodPtr popped = queue->pop();
  ASSERT_EQ(popped->pod->name, "tried");
  fail(std::move(popped), {kFit});
  clock.advance(20s);
  queue->move_all(node_added());
  EXPECT_EQ(where("tried"), Place::kActive);
  EXPECT_EQ(pop(), "newer");
  EXPECT_EQ(pop(), "tried");
}

TEST_F(Backoff, MovesLeaveTheTimestamp) {
  refused(pod("a"), {kFit});
  const Instant failed = clock.now();
  clock.advance(500ms);
  queue->move_all(node_added());
  EXPECT_EQ(info("a").timestamp, failed);
  pass(10s);
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(info("a").timestamp, failed);
}

// The timers, in a world of their own.
class QueueTimers : public testing::Test {
 protected:
  QueueTimers() {
    QueueSetup setup;
    setup.sort = &sort;
    setup.profiles = {{.scheduler_name = "default-scheduler", .pre_enqueue = {}, .plugins = {}}};
    setup.cluster = no_cluster();
    setup.observer = &seen;
    queue = std::make_unique<SchedulingQueue>(world.clock(), std::move(setup));
  }
  ~QueueTimers() override {
    queue.reset();
    scope.close(0s, nullptr);
    world.run_for(1s);
  }
  Place where(const char* name) const {
    const QueuedPod* queued = queue->find("default", name);
    return queued == nullptr ? Place::kNowhere : queued->place;
  }
  void fail(const PodPtr& pod, PluginSet rejectors) {
    queue->add(pod);
    ASSERT_TRUE(queue->add_unschedulable_if_not_present(queue->pop(), {rejectors, {}}));
  }

  World world{1};
  Scope scope{world.loop("scheduler"), "queue"};
  ByPriority sort;
  CountingObserver seen;
  std::unique_ptr<SchedulingQueue> queue;
};

TEST_F(QueueTimers, BackoffIsFlushedAtWholeSeconds) {
  world.run_for(400ms);
  queue->run(scope);
  fail(pod("a"), {});  // until 1.4 s: free at 2 s
  world.run_for(1599ms);
  EXPECT_EQ(where("a"), Place::kErrorBackoff);
  world.run_for(1ms);
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(QueueTimers, LeftoversAreFlushedAtTheFirstHalfMinutePastFive) {
  queue->run(scope);
  world.run_for(10s);
  fail(pod("a"), {kFit});
  world.run_for(5min);  // at 5:00 it has waited for 4:50
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  world.run_for(19s);
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  world.run_for(1s);
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(QueueTimers, ExactlyFiveMinutesAreNotEnough) {
  queue->run(scope);
  fail(pod("a"), {kFit});
  world.run_for(5min);
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  world.run_for(30s);
  EXPECT_EQ(where("a"), Place::kActive);
}

TEST_F(QueueTimers, AnIdleQueueKeepsNoTimerAndAWaitingPodKeepsNoWorldBusy) {
  queue->run(scope);
  fail(pod("a"), {kFit});
  EXPECT_TRUE(world.run_until_idle(1min));
  EXPECT_LT(world.clock().now(), Instant{1min});
}

TEST_F(QueueTimers, ClosingStopsThem) {
  queue->run(scope);
  fail(pod("a"), {});
  queue->close();
  world.run_for(1min);
  EXPECT_EQ(where("a"), Place::kErrorBackoff);
}

TEST_F(QueueTimers, TicksGoOnWhileAPodBacksOff) {
  queue->run(scope);
  fail(pod("a"), {});
  fail(pod("b"), {});
  world.run_for(3s);
  QueuedPodPtr popped = queue->pop();
  ASSERT_TRUE(popped);
  ASSERT_TRUE(queue->add_unschedulable_if_not_present(std::move(popped), {}));
  EXPECT_TRUE(world.run_until_idle(1min));
  EXPECT_EQ(queue->active_pods().size(), 2u);
}

}  // namespace
}  // namespace berth::scheduler::test
