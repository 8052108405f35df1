// SPDX-License-Identifier: Apache-2.0
#include "net/loop.h"

#include <csignal>
#include <future>
#include <thread>

#include <gmock/gmock.h>

namespace berth::net {
namespace {

using ::testing::ElementsAre;

// Runs `f` on the loop and waits for it.
template <class F>
void on(Executor& loop, F f) {
  std::promise<void> ran;
  loop.post([&] {
    f();
    ran.set_value();
  });
  ran.get_future().wait();
}

TEST(RealRuntime, RunsTasksInPostingOrderOnOneThread) {
  RealRuntime runtime;
  Executor& loop = runtime.loop("io0");
  std::vector<int> order;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 1000; ++i)
    loop.post([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
    });
  on(loop, [] {});
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(RealRuntime, GivesTheSameLoopForTheSameRole) {
  RealRuntime runtime;
  EXPECT_EQ(&runtime.loop("api"), &runtime.loop("api"));
  EXPECT_NE(&runtime.loop("api"), &runtime.loop("disk"));
}

TEST(RealRuntime, NeverRunsAPostedTaskInline) {
  RealRuntime runtime;
  Executor& loop = runtime.loop("io0");
  bool inner_ran_early = true;
  std::promise<void> inner;
  on(loop, [&] {
    bool ran = false;
    loop.post([&, p = &inner] { p->set_value(); });
    inner_ran_early = ran;
  });
  inner.get_future().wait();
  EXPECT_FALSE(inner_ran_early);
}

TEST(RealRuntime, KnowsWhichThreadItIsOn) {
  RealRuntime runtime;
  Executor& a = runtime.loop("a");
  Executor& b = runtime.loop("b");
  EXPECT_FALSE(a.here());
  on(a, [&] {
    EXPECT_TRUE(a.here());
    EXPECT_FALSE(b.here());
  });
}

TEST(RealRuntime, FiresTimersByTimeThenByOrderOfSetting) {
  RealRuntime runtime;
  Executor& loop = runtime.loop("io0");
  std::vector<std::string> fired;
  std::promise<void> last;
  on(loop, [&] {
    const Instant now = loop.clock().now();
    loop.at(now + 3ms, [&] {
      fired.push_back("late");
      last.set_value();
    });
    loop.at(now + 1ms, [&] { fired.push_back("early"); });
    loop.at(now + 2ms, [&] { fired.push_back("first of two"); });
    loop.at(now + 2ms, [&] { fired.push_back("second of two"); });
    loop.at({kNoLimit}, [&] { fired.push_back("never"); });
  });
  last.get_future().wait();
  EXPECT_THAT(fired, ElementsAre("early", "first of two", "second of two", "late"));
}

TEST(RealRuntime, ACancelledTimerNeverRuns) {
  RealRuntime runtime;
  Executor& loop = runtime.loop("io0");
  bool cancelled_ran = false;
  std::promise<void> last;
  on(loop, [&] {
    const Instant now = loop.clock().now();
    const TimerId id = loop.at(now, [&] { cancelled_ran = true; });
    EXPECT_TRUE(loop.cancel(id));
    EXPECT_FALSE(loop.cancel(id));
    EXPECT_FALSE(loop.cancel(TimerId::kNone));
    // One that is due at the same moment can still be cancelled by its predecessor.
    auto victim = std::make_shared<TimerId>();
    loop.at(now, [&, victim] { EXPECT_TRUE(loop.cancel(*victim)); });
    *victim = loop.at(now, [&] { cancelled_ran = true; });
    auto self = std::make_shared<TimerId>();
    *self = loop.at(now, [&, self] {
      EXPECT_FALSE(loop.cancel(*self)) << "it already runs";
      last.set_value();
    });
  });
  last.get_future().wait();
  EXPECT_FALSE(cancelled_ran);
}

TEST(RealRuntime, ClockIsMonotonicAndStartsNearZero) {
  RealRuntime runtime;
  const Clock& clock = runtime.loop("io0").clock();
  const Instant first = clock.now();
  EXPECT_GE(first.since_start, 0ns);
  EXPECT_LE(first, clock.now());
  EXPECT_GT(clock.wall().unix_nanos, 1'700'000'000'000'000'000);
}

TEST(RealRuntime, OffloadedWorkRunsElsewhereAndReturnsHome) {
  RealRuntime runtime;
  Executor& loop = runtime.loop("io0");
  std::promise<void> finished;
  bool worked_on_loop = true;
  bool back_on_loop = false;
  runtime.offload(
      loop, [&] { worked_on_loop = loop.here(); },
      [&] {
        back_on_loop = loop.here();
        finished.set_value();
      });
  finished.get_future().wait();
  EXPECT_FALSE(worked_on_loop);
  EXPECT_TRUE(back_on_loop);
}

struct CountsItsEnd {
  explicit CountsItsEnd(std::atomic<int>& count) : destroyed(count) {}
  ~CountsItsEnd() { ++destroyed; }
  std::atomic<int>& destroyed;
};

// Posts to two loops when destroyed, as a dropped Done does.
struct PostsWhenDestroyed : CountsItsEnd {
  PostsWhenDestroyed(Executor& a, Executor& b, std::atomic<int>& count)
      : CountsItsEnd(count), first(a), second(b) {}
  ~PostsWhenDestroyed() {
    for (Executor* loop : {&first, &second})
      loop->post(
          [owned = std::make_unique<CountsItsEnd>(destroyed)] { FAIL() << "ran after the end"; });
  }
  Executor& first;
  Executor& second;
};

TEST(RealRuntime, DropsWhatNeverRanAndWhatThatOwns) {
  std::atomic<int> destroyed = 0;
  {
    RealRuntime runtime;
    Executor& a = runtime.loop("a");
    Executor& b = runtime.loop("b");
    for (Executor* loop : {&a, &b})
      on(*loop, [&] {
        loop->at(loop->clock().now() + 1h,
                 [owned = std::make_unique<PostsWhenDestroyed>(a, b, destroyed)] {
                   FAIL() << "an hour has not passed";
                 });
      });
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 2 + 4);
}

TEST(RealRuntime, FirstSignalIsATaskTheSecondEndsTheProcess) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        RealRuntime runtime;
        Executor& loop = runtime.loop("main");
        std::promise<void> asked;
        runtime.on_interrupt(loop, [&] {
          if (loop.here()) asked.set_value();
        });
        // The handler is in place once on_interrupt returns.
        std::raise(SIGTERM);
        asked.get_future().wait();
        std::raise(SIGINT);
        std::promise<void>().get_future().wait();
      },
      ::testing::ExitedWithCode(130), "");
}

TEST(RealRuntime, EveryUserSignalIsATask) {
  std::promise<void> twice;
  RealRuntime runtime;
  Executor& loop = runtime.loop("main");
  runtime.on_interrupt(loop, [] {});
  int seen = 0;
  runtime.on_user_signal(loop, [&] {
    if (++seen == 2)
      twice.set_value();
    else
      std::raise(SIGUSR2);
  });
  std::raise(SIGUSR2);
  twice.get_future().wait();
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace berth::net
