// SPDX-License-Identifier: Apache-2.0
// A Done may be fired or dropped on any thread: for ThreadSanitizer to watch.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "base/scope.h"

namespace berth {
namespace {

// Runs what other threads post on the thread that calls run_until(). Time stands still.
class PumpedLoop final : public Executor, Clock {
 public:
  void post(Task task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    more_.notify_one();
  }
  TimerId at(Instant due, Task task, Timer) override {
    if (due <= now()) post(std::move(task));
    return TimerId::kNone;
  }
  bool cancel(TimerId) override { return false; }
  const Clock& clock() const override { return *this; }
  bool here() const override { return running_; }

  void run_until(const bool& done) {
    running_ = true;
    while (!done) {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return !tasks_.empty(); });
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

 private:
  Instant now() const override { return {}; }
  WallTime wall() const override { return {}; }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Task> tasks_;
  bool running_ = false;
};

TEST(ScopeThreads, CallsAreAnsweredAtHomeWhoeverFiresOrDropsThem) {
  constexpr int kThreads = 4, kCalls = 500;
  PumpedLoop home;
  Scope scope(home, "root");
  int values = 0, dropped = 0;  // touched at home only
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    std::vector<Done<std::string>> calls;
    for (int i = 0; i < kCalls; ++i)
      calls.push_back(scope.done<std::string>(
          kNoLimit, [&, held = std::make_unique<int>(1)](Result<std::string> r) {
            (r ? values : dropped) += *held;
          }));
    threads.emplace_back([calls = std::move(calls)]() mutable {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (i % 5 == 0)
          calls[i] = Done<std::string>();
        else
          calls[i](std::to_string(i));
      }
    });
  }
  bool closed = false;
  scope.close(kNoLimit, [&] { closed = true; });
  home.run_until(closed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values, kThreads * kCalls * 4 / 5);
  EXPECT_EQ(dropped, kThreads * kCalls / 5);
}

TEST(ScopeThreads, ADoneMayOutliveItsScopeOnAnotherThread) {
  PumpedLoop home;
  std::mutex scope_lives;
  std::unique_lock until_closed(scope_lives);
  std::thread late;
  int answers = 0;
  {
    Scope scope(home, "root");
    late = std::thread([&, done = scope.done<int>(kNoLimit, [&](Result<int> r) {
      EXPECT_EQ(r.error().reason, Reason::kCancelled);
      ++answers;
    })]() mutable {
      const std::lock_guard wait(scope_lives);
      done(1);
    });
    bool closed = false;
    scope.close(0s, [&] { closed = true; });
    home.run_until(closed);
  }
  until_closed.unlock();
  late.join();
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace berth
