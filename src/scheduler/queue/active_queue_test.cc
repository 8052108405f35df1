// SPDX-License-Identifier: Apache-2.0
// Coming in, being popped, and leaving.
#include "scheduler/queue/queue_test_lab_for_test.h"

namespace berth::scheduler::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ActiveQueue : public QueueTest {};

TEST_F(ActiveQueue, ThePodOfHighestPriorityIsPoppedFirst) {
  add(pod("low").priority(1));
  add(pod("high").priority(9));
  add(pod("middle").priority(5));
  EXPECT_EQ(pop(), "high");
  EXPECT_EQ(pop(), "middle");
  EXPECT_EQ(pop(), "low");
  EXPECT_EQ(pop(), "");
}

TEST_F(ActiveQueue, AmongEqualPrioritiesTheOldestIsPoppedFirst) {
  for (const char* name : {"first", "second", "third"}) {
    add(pod(name));
    clock.advance(1ms);
  }
  EXPECT_EQ(pop(), "first");
  EXPECT_EQ(pop(), "second");
  EXPECT_EQ(pop(), "third");
}

TEST_F(ActiveQueue, AmongEqualTimestampsTheHeapDecidesAsGosDoes) {
  for (const char* name : {"0", "1", "2", "3", "4", "5"}) add(pod(name));
  std::string order;
  for (std::string name = pop(); !name.empty(); name = pop()) order += name;
  EXPECT_EQ(order, "054321");
}

TEST_F(ActiveQueue, PoppingCountsTheAttemptAndPutsThePodInFlight) {
  add(pod("a"));
  const QueuedPodPtr popped = queue->pop();
  EXPECT_EQ(popped->attempts, 1);
  EXPECT_EQ(popped->place, Place::kInFlight);
  EXPECT_TRUE(queue->in_flight("a-uid"));
  EXPECT_EQ(seen.counts.in_flight_events["PodPopped"], 1);
  queue->done("a-uid");
  EXPECT_FALSE(queue->in_flight("a-uid"));
  EXPECT_EQ(seen.counts.in_flight_events["PodPopped"], 0);
}

TEST_F(ActiveQueue, DoneMayBeSaidTwice) {
  add(pod("a"));
  queue->pop();
  queue->done("a-uid");
  queue->done("a-uid");
  EXPECT_EQ(seen.counts.in_flight_events["PodPopped"], 0);
}

TEST_F(ActiveQueue, APodThatIsInFlightAlreadyIsNotPoppedAgain) {
  add(pod("a"));
  const QueuedPodPtr first = queue->pop();
  queue->add(pod("a"));  // the same uid
  queue->add(pod("b"));
  EXPECT_EQ(pop(), "b");
  EXPECT_EQ(pop(), "");
  EXPECT_EQ(where("a"), Place::kNowhere);
}

TEST_F(ActiveQueue, APodThatWasMadeAnewIsAnotherPod) {
  const PodPtr old = pod("a");
  add(old);
  const QueuedPodPtr first = queue->pop();
  queue->remove(*old);
  add(pod("a").uid("a-again"));
  const QueuedPodPtr second = queue->pop();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->pod->uid, "a-again");
  EXPECT_THAT(queue->in_flight_pods(), testing::SizeIs(2));
}

TEST_F(ActiveQueue, AddingAPodTwiceReplacesIt) {
  add(pod("a").priority(1));
  add(pod("b").priority(2));
  add(pod("a").priority(3));
  EXPECT_EQ(pop(), "a");
  EXPECT_EQ(pop(), "b");
  EXPECT_EQ(pop(), "");
}

TEST_F(ActiveQueue, AnUpdateMovesAPodWithinTheQueue) {
  const PodPtr low = pod("a").priority(1);
  add(low);
  add(pod("b").priority(2));
  update(low, pod("a").priority(3));
  EXPECT_EQ(pop(), "a");
}

TEST_F(ActiveQueue, AnUpdateKeepsTheTimestamp) {
  const PodPtr before = pod("a");
  add(before);
  const Instant came = info("a").timestamp;
  clock.advance(5s);
  update(before, pod("a").app("new"));
  EXPECT_EQ(info("a").timestamp, came);
}

TEST_F(ActiveQueue, AnUpdateOfAnUnknownPodAddsIt) {
  update(pod("a"), pod("a").app("new"));
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_EQ(incoming(QueueName::kActive, "UnschedulablePodUpdate"), 1);
}

TEST_F(ActiveQueue, ARemovedPodIsNotPopped) {
  const PodPtr a = pod("a");
  add(a);
  add(pod("b"));
  queue->remove(*a);
  EXPECT_EQ(pop(), "b");
  EXPECT_EQ(pop(), "");
  queue->remove(*a);  // harmless
}

TEST_F(ActiveQueue, ReadinessIsToldOnceAnOperation) {
  add(pod("a"));
  EXPECT_EQ(ready, 1);
  refused(pod("b"), {kFit});
  refused(pod("c"), {kFit});
  clock.advance(20s);
  ready = 0;
  queue->move_all(node_added());
  EXPECT_EQ(ready, 1);
  queue->move_all(node_added());
  EXPECT_EQ(ready, 1);
}

TEST_F(ActiveQueue, NothingIsPoppedOnceClosed) {
  add(pod("a"));
  add(pod("b"));
  const QueuedPodPtr flying = queue->pop();
  queue->close();
  EXPECT_FALSE(queue->pop());
  EXPECT_FALSE(queue->in_flight(flying->pod->uid));
  EXPECT_EQ(seen.counts.in_flight_events["PodPopped"], 0);
}

TEST_F(ActiveQueue, TheFirstTryIsTimedFromTheFirstEntry) {
  add(pod("a"));
  const Instant first = clock.now();
  clock.advance(3s);
  QueuedPodPtr popped = queue->pop();
  EXPECT_EQ(popped->initial_attempt_timestamp, first);
  fail(std::move(popped), {});
  pass(20s);
  EXPECT_EQ(queue->pop()->initial_attempt_timestamp, first);
}

TEST_F(ActiveQueue, EveryMoveIsToldWithItsCause) {
  const PodPtr a = pod("a");
  refused(a, {kFit});
  queue->move_all(node_added());
  pass(3s);
  const QueuedPodPtr popped = queue->pop();
  EXPECT_THAT(
      seen.story,
      ElementsAre("a: None -> Active by UnschedulablePodAdd", "a: Active -> InFlight by Pop",
                  "a: InFlight -> Unschedulable by ScheduleAttemptFailure",
                  "a: Unschedulable -> Backoff by NodeAdd",
                  "a: Backoff -> Active by BackoffComplete", "a: Active -> InFlight by Pop"));
}

TEST_F(ActiveQueue, ARemovalIsToldToo) {
  const PodPtr a = pod("a");
  add(a);
  queue->remove(*a);
  EXPECT_EQ(seen.story.back(), "a: Active -> None by PodDelete");
}

TEST_F(ActiveQueue, TheSummaryCountsEachQueue) {
  add(pod("a"));
  refused(pod("b"), {kFit});
  refused(pod("c"), {});
  EXPECT_EQ(queue->summary(), "activeQ:1; backoffQ:1; unschedulablePods:1");
}

TEST_F(ActiveQueue, PodsAreFoundWhereverTheyWait) {
  add(pod("a"));
  refused(pod("b"), {kFit});
  refused(pod("c"), {});
  EXPECT_NE(queue->find("default", "a"), nullptr);
  EXPECT_NE(queue->find("default", "b"), nullptr);
  EXPECT_NE(queue->find("default", "c"), nullptr);
  EXPECT_EQ(queue->find("elsewhere", "a"), nullptr);
}

// Taking one pod out of turn.

TEST_F(ActiveQueue, ASpecificPodIsTakenFromActive) {
  add(pod("first").priority(9));
  add(pod("wanted"));
  const QueuedPodPtr popped = queue->pop_specific(*PodPtr(pod("wanted")));
  ASSERT_TRUE(popped);
  EXPECT_EQ(popped->attempts, 1);
  EXPECT_TRUE(queue->in_flight("wanted-uid"));
}

TEST_F(ActiveQueue, ASpecificPodIsTakenFromBackoffAndPool) {
  const PodPtr error = pod("error");
  const PodPtr waiting = pod("waiting");
  refused(error, {});
  refused(waiting, {kFit});
  EXPECT_TRUE(queue->pop_specific(*error));
  EXPECT_TRUE(queue->pop_specific(*waiting));
  EXPECT_THAT(queue->unschedulable_pods(), IsEmpty());
}

TEST_F(ActiveQueue, ASpecificPodThatIsGatedIsNotTaken) {
  closed = {"a"};
  const PodPtr a = pod("a");
  add(a);
  EXPECT_FALSE(queue->pop_specific(*a));
  EXPECT_EQ(where("a"), Place::kUnschedulable);
  closed = {};
  EXPECT_TRUE(queue->pop_specific(*a));
}

TEST_F(ActiveQueue, ASpecificPodThatIsNowhereIsNotTaken) {
  EXPECT_FALSE(queue->pop_specific(*PodPtr(pod("a"))));
}

TEST_F(ActiveQueue, AWaitingPodThatCameBackIsRefusedTwice) {
  add(pod("a"));
  QueuedPodPtr popped = queue->pop();
  queue->add(pod("a").uid("a-again"));
  const auto refusal = queue->add_unschedulable_if_not_present(std::move(popped), {{kFit}, {}});
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().message, "Pod default/a is already present in the active queue");
  EXPECT_FALSE(queue->in_flight("a-uid"));
}

TEST(LoggingObserver, WritesMovesAsFields) {
  StringSink sink;
  ManualClock clock;
  LoggingObserver observer(Logger(sink, clock, LogLevel::kDebug),
                           [](PluginId) { return "NodeResourcesFit"; });
  QueuedPod queued{.pod = pod("a"), .timestamp = {}};
  observer.moved(queued, Place::kUnschedulable, Place::kActive, "NodeAdd");
  observer.hint_ran(kFit, "default-scheduler", "NodeAdd", HintResult::kSkip, 1ms);
  EXPECT_THAT(sink.text(), testing::HasSubstr("pod=default/a event=NodeAdd from=Unschedulable"));
  EXPECT_THAT(sink.text(), testing::HasSubstr("plugin=NodeResourcesFit"));
  EXPECT_THAT(sink.text(), testing::HasSubstr("hint=QueueSkip"));
}

}  // namespace
}  // namespace berth::scheduler::test
