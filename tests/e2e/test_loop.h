// SPDX-License-Identifier: Apache-2.0
// A real loop that a test thread calls into and waits for.
#pragma once

#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "base/scope.h"
#include "net/loop.h"

namespace berth::e2e {

// Thread-compatible: one test thread uses it. What lives on the loop is made and destroyed in
// run().
class TestLoop {
 public:
  explicit TestLoop(std::string_view name = "test") : loop_(runtime_.loop(name)) {
    run([&] { scope_ = std::make_unique<Scope>(loop_, name); });
  }
  ~TestLoop() { close(); }
  // Ends everything that runs in the scope. Nothing can be asked afterwards.
  void close() {
    if (!scope_) return;
    close(*scope_);
    run([&] { scope_.reset(); });
  }
  TestLoop(const TestLoop&) = delete;
  TestLoop& operator=(const TestLoop&) = delete;

  Executor& executor() { return loop_; }
  net::RealRuntime& runtime() { return runtime_; }
  Scope& scope() { return *scope_; }  // to be used on the loop only

  // Runs `task` on the loop and waits until it returned.
  void run(Task task) {
    std::promise<void> ran;
    loop_.post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().wait();
  }

  // A scope for a part of a test, and its end; afterwards nothing of it runs any more.
  Scope& child(std::string_view name) {
    Scope* made = nullptr;
    run([&] { made = &scope_->child(name); });
    return *made;
  }
  void close(Scope& scope) {
    std::promise<void> closed;
    loop_.post([&] { scope.close(Duration{0}, [&] { closed.set_value(); }); });
    closed.get_future().wait();
  }

  // Starts a call on the loop and waits for its answer.
  template <class T>
  Result<T> ask(Duration limit, Fn<void(Done<T>)> start) {
    std::promise<Result<T>> answer;
    loop_.post([&] {
      start(scope_->done<T>(limit, [&](Result<T> r) { answer.set_value(std::move(r)); }));
    });
    return answer.get_future().get();
  }

 private:
  net::RealRuntime runtime_;
  Executor& loop_;
  std::unique_ptr<Scope> scope_;
};

}  // namespace berth::e2e
