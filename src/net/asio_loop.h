// SPDX-License-Identifier: Apache-2.0
// The loop behind RealRuntime's executors, for the .cc files of net/ that need the io_context
// itself.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/executor.h"

namespace berth::net {

// Something that holds a handle of a loop's io_context (a socket, an acceptor). When the runtime
// ends, abandon() makes it let go of the handle and of its callbacks, so that it may itself be
// destroyed later.
class LoopResource {
 public:
  virtual void abandon() = 0;

 protected:
  ~LoopResource() = default;
};

// Serial; post() and here() may be called from any thread, the rest on the loop's own.
class AsioLoop final : public Executor {
 public:
  AsioLoop(const std::string& role, const Clock& clock,
           std::chrono::steady_clock::time_point start);
  ~AsioLoop() override;

  void post(Task) override;
  TimerId at(Instant, Task, Timer) override;
  bool cancel(TimerId) override;
  const Clock& clock() const override { return clock_; }
  bool here() const override;
  bool dead() const override { return stopped_; }

  boost::asio::io_context& io() { return io_; }
  void attach(LoopResource& r) { resources_.insert(&r); }
  void detach(LoopResource& r) { resources_.erase(&r); }

  // The end of a runtime with several loops goes in two steps, so that what a dropped task owned
  // may still post to another loop (and be dropped there).
  void stop();  // no task runs after it returns
  void drop();  // destroys tasks and timers that never ran

 private:
  using TimerKey = std::pair<Instant, std::uint64_t>;
  void run_posted();
  void arm();
  void run_due();

  const Clock& clock_;
  const std::chrono::steady_clock::time_point start_;

  std::mutex mutex_;  // guards the next three
  std::vector<Task> posted_;
  bool woken_ = false;
  bool dropping_ = false;

  std::atomic<bool> stopped_ = false;
  std::vector<Task> batch_;

  std::map<TimerKey, Task> timers_;
  std::unordered_map<std::uint64_t, Instant> due_;
  std::uint64_t last_timer_ = 0;
  Instant armed_{kNoLimit};

  std::unordered_set<LoopResource*> resources_;
  boost::asio::io_context io_;
  boost::asio::steady_timer wake_;
  std::thread thread_;
};

// The loop an executor is; the executor must come from a RealRuntime.
AsioLoop& asio_loop(Executor&);

}  // namespace berth::net
