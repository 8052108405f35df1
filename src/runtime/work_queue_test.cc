// SPDX-License-Identifier: Apache-2.0
#include "runtime/work_queue.h"

#include <gmock/gmock.h>

#include "base/world.h"

namespace berth::runtime {
namespace {

using testing::ElementsAre;

class WorkQueueTest : public testing::Test {
 protected:
  ~WorkQueueTest() override {
    scope.close({}, [] {});
    world.run_for(1s);
  }
  std::vector<std::string> take_all() {
    std::vector<std::string> names;
    while (const auto key = queue.take()) names.push_back(key->name);
    return names;
  }
  static Key key(const char* name) { return {"ns", name}; }
  double metric(const std::string& series) {
    const std::string text = metrics.exposition();
    const std::size_t at = text.find("\n" + series + "{name=\"test\"} ");
    return at == std::string::npos ? -1 : std::stod(text.substr(text.find("} ", at) + 2));
  }

  World world{1};
  Metrics metrics;
  Scope scope{world.loop("test"), "test"};
  int ready = 0;
  WorkQueue queue{scope, Random(1), metrics, "test", [this] { ++ready; }};
};

TEST_F(WorkQueueTest, IsFirstComeFirstServedAndHoldsAKeyOnce) {
  for (const char* name : {"b", "a", "b", "c"}) queue.add(key(name));
  EXPECT_EQ(metric("workqueue_depth"), 3);
  EXPECT_EQ(metric("workqueue_adds_total"), 3);
  EXPECT_THAT(take_all(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(metric("workqueue_depth"), 0);
}

TEST_F(WorkQueueTest, AHigherPriorityGoesFirstAlsoWhenItIsLearntLater) {
  queue.add(key("a"));
  queue.add(key("b"), 5);
  queue.add(key("c"));
  queue.add(key("c"), 9);
  queue.add(key("b"), 1);
  EXPECT_THAT(take_all(), ElementsAre("c", "b", "a"));
}

TEST_F(WorkQueueTest, WhatIsBatchedRunsOnceAndIsNotPutOff) {
  queue.add(key("a"), 0, 1s);
  world.run_for(900ms);
  queue.add(key("a"), 0, 1s);
  EXPECT_FALSE(queue.take().has_value());
  EXPECT_FALSE(queue.idle());
  world.run_for(100ms);
  EXPECT_EQ(queue.take(), key("a"));
  queue.add(key("a"), 0, 1s);  // while it runs
  queue.finish(key("a"));
  EXPECT_FALSE(queue.take().has_value());
  queue.add(key("a"));  // something that cannot wait: that run has seen it all
  EXPECT_EQ(queue.take(), key("a"));
  queue.finish(key("a"));
  world.run_for(1min);
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, WhatHappensDuringARestIsSeenOnceAfterIt) {
  queue.add(key("a"));
  EXPECT_EQ(queue.take(), key("a"));
  queue.finish(key("a"), 1s);
  queue.add(key("a"));
  queue.add(key("a"), 3);
  world.run_for(999ms);
  EXPECT_FALSE(queue.take().has_value());
  world.run_for(1ms);
  EXPECT_EQ(queue.take(), key("a"));
  queue.add(key("a"));  // while it runs, and it rests again
  queue.finish(key("a"), 1s);
  EXPECT_FALSE(queue.take().has_value());
  world.run_for(1s);
  EXPECT_EQ(queue.take(), key("a"));
  EXPECT_EQ(metric("workqueue_adds_total"), 3);
  queue.finish(key("a"), 1s);
  EXPECT_FALSE(queue.idle());
  world.run_for(1s);
  EXPECT_TRUE(queue.idle()) << "nothing happened";
}

TEST_F(WorkQueueTest, WhateverHappensDuringARunBecomesOneMoreRun) {
  queue.add(key("a"));
  EXPECT_THAT(take_all(), ElementsAre("a"));
  queue.add(key("a"));
  queue.add(key("a"));
  EXPECT_FALSE(queue.take().has_value()) << "it runs";
  queue.finish(key("a"));
  EXPECT_THAT(take_all(), ElementsAre("a"));
  queue.finish(key("a"));
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, TellsOnceThatThereIsSomethingToTake) {
  queue.add(key("a"));
  queue.add(key("b"));
  EXPECT_EQ(ready, 0) << "never inline";
  world.run_for(0s);
  EXPECT_EQ(ready, 1);
}

TEST_F(WorkQueueTest, RetriesFromFiveMillisecondsToFiveMinutesWithJitter) {
  Duration expected = 5ms;
  bool jitter = false;
  queue.add(key("a"));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(queue.take().has_value());
    queue.retry(key("a"));
    queue.finish(key("a"));
    const Instant before = world.clock().now();
    while (queue.size() == 0) ASSERT_TRUE(world.step());
    const Duration waited = world.clock().now() - before;
    EXPECT_LE(waited, expected);
    EXPECT_GE(waited, expected / 2);
    jitter |= waited != expected;
    expected = std::min<Duration>(expected * 2, 5min);
  }
  EXPECT_EQ(expected, 5min);
  EXPECT_TRUE(jitter);
  EXPECT_EQ(metric("workqueue_retries_total"), 20);
}

TEST_F(WorkQueueTest, OneSuccessMakesTheNextFailureTheFirst) {
  queue.add(key("a"));
  for (int i = 0; i < 5; ++i) {
    queue.take();
    queue.retry(key("a"));
    queue.finish(key("a"));
    world.run_for(1s);
  }
  EXPECT_EQ(queue.failures(key("a")), 5u);
  queue.take();
  queue.succeeded(key("a"));
  queue.finish(key("a"));
  EXPECT_TRUE(queue.idle()) << "nothing is remembered of it";
}

TEST_F(WorkQueueTest, AnOutdatedViewIsTriedAgainAtOnceTheFirstTimeOnly) {
  queue.add(key("a"));
  queue.take();
  queue.retry(key("a"), true);
  queue.finish(key("a"));
  EXPECT_THAT(take_all(), ElementsAre("a"));
  queue.retry(key("a"), true);
  queue.finish(key("a"));
  EXPECT_FALSE(queue.take().has_value());
  world.run_for(10ms);
  EXPECT_THAT(take_all(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, KeepsOneTimerAKeyAndForgetsItWhenTheKeyRuns) {
  queue.add(key("a"));
  queue.take();
  queue.again_in(key("a"), 1h);
  queue.again_in(key("a"), 10s);
  queue.finish(key("a"));
  EXPECT_FALSE(queue.idle());
  world.run_for(10s);
  EXPECT_THAT(take_all(), ElementsAre("a"));
  queue.again_in(key("a"), 10s);
  queue.finish(key("a"));
  queue.add(key("a"));  // woken before its time
  EXPECT_THAT(take_all(), ElementsAre("a"));
  queue.finish(key("a"));
  world.run_for(2h);
  EXPECT_TRUE(queue.idle()) << "neither timer fires any more";
}

TEST_F(WorkQueueTest, ATimeInThePastIsNow) {
  queue.add(key("a"));
  queue.take();
  queue.again_in(key("a"), -5s);
  queue.finish(key("a"));
  world.run_for(0s);
  EXPECT_THAT(take_all(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, ShowsWorkThatTakesLongUntilItOnlyRests) {
  queue.add(key("a"));
  queue.take();
  world.run_for(2100ms);
  EXPECT_DOUBLE_EQ(metric("workqueue_unfinished_work_seconds"), 2);
  EXPECT_DOUBLE_EQ(metric("workqueue_longest_running_processor_seconds"), 2);
  queue.resting(key("a"));
  world.run_for(1s);
  EXPECT_EQ(metric("workqueue_unfinished_work_seconds"), 0);
  EXPECT_FALSE(queue.take().has_value());
  queue.finish(key("a"));
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, AddsAreNotLostAroundTimersAndRuns) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const char* names[] = {"a", "b", "c", "d"};
    const Key one = key(names[random.below(4)]);
    queue.add(one, static_cast<int>(random.below(3)));
    if (random.below(2) == 0)
      if (const auto taken = queue.take()) {
        if (random.below(3) == 0) queue.retry(*taken, random.below(2) == 0);
        if (random.below(3) == 0) queue.again_in(*taken, Duration(random.below(1'000'000'000)));
        if (random.below(3) == 0) queue.succeeded(*taken);
        queue.finish(*taken);
      }
    world.run_for(Duration(random.below(300'000'000)));
  }
  for (int i = 0; i < 100; ++i) {
    while (const auto taken = queue.take()) {
      queue.succeeded(*taken);
      queue.finish(*taken);
    }
    world.run_for(1min);
  }
  EXPECT_TRUE(queue.idle());
}

}  // namespace
}  // namespace berth::runtime
