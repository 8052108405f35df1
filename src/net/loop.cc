// SPDX-License-Identifier: Apache-2.0
#include "net/loop.h"

#include <algorithm>
#include <csignal>
#include <optional>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <pthread.h>
#include <unistd.h>

#include "base/check.h"
#include "net/asio_loop.h"

namespace berth::net {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;

namespace {

thread_local const AsioLoop* current_loop = nullptr;

class SystemClock final : public Clock {
 public:
  Instant now() const override { return {SteadyClock::now() - start}; }
  WallTime wall() const override {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count()};
  }
  const SteadyClock::time_point start = SteadyClock::now();
};

}  // namespace

AsioLoop::AsioLoop(const std::string& role, const Clock& clock, SteadyClock::time_point start)
    : clock_(clock), start_(start), io_(1), wake_(io_) {
  thread_ = std::thread([this, name = role.substr(0, 15)] {
    pthread_setname_np(pthread_self(), name.c_str());
    current_loop = this;
    auto busy = asio::make_work_guard(io_);
    io_.run();
  });
}

AsioLoop::~AsioLoop() {
  stop();
  drop();
}

void AsioLoop::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (dropping_) return;  // the loop has ended; the task is destroyed after the lock is released
    posted_.push_back(std::move(task));
    if (woken_) return;
    woken_ = true;
  }
  asio::post(io_, [this] { run_posted(); });
}

void AsioLoop::run_posted() {
  {
    std::lock_guard lock(mutex_);
    woken_ = false;
    batch_.swap(posted_);
  }
  for (Task& queued : batch_) {
    if (stopped_.load(std::memory_order_relaxed)) return;
    Task task = std::move(queued);
    task();
  }
  batch_.clear();
}

bool AsioLoop::here() const { return current_loop == this; }

TimerId AsioLoop::at(Instant when, Task task, Timer) {
  if (stopped_) return TimerId::kNone;
  BERTH_CHECK(here(), "a timer was set from another thread");
  const std::uint64_t id = ++last_timer_;
  timers_.emplace(TimerKey{when, id}, std::move(task));
  due_.emplace(id, when);
  if (when < armed_) arm();
  return TimerId{id};
}

bool AsioLoop::cancel(TimerId timer) {
  // Destructors may cancel while a stopped loop is being taken apart.
  BERTH_CHECK(here() || stopped_, "a timer was cancelled from another thread");
  const auto id = static_cast<std::uint64_t>(timer);
  const auto found = due_.find(id);
  if (found == due_.end()) return false;
  // What the task owned is destroyed last: it may come back here.
  const auto node = timers_.extract(TimerKey{found->second, id});
  due_.erase(found);
  return true;
}

void AsioLoop::arm() {
  if (timers_.empty()) {
    armed_ = {kNoLimit};
    return;
  }
  armed_ = timers_.begin()->first.first;
  // "Never" does not fit the clock; waking once an hour for nothing does no harm.
  const Instant wake_at = std::min(armed_, clock_.now() + 1h);
  wake_.expires_at(start_ + std::chrono::duration_cast<SteadyClock::duration>(wake_at.since_start));
  wake_.async_wait([this](const boost::system::error_code& error) {
    if (!error) run_due();
  });
}

void AsioLoop::run_due() {
  const Instant now = clock_.now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    if (stopped_.load(std::memory_order_relaxed)) return;
    auto node = timers_.extract(timers_.begin());
    due_.erase(node.key().second);
    node.mapped()();
  }
  arm();
}

void AsioLoop::stop() {
  BERTH_CHECK(!here(), "a loop cannot end itself");
  stopped_ = true;
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void AsioLoop::drop() {
  std::vector<Task> posted;
  {
    std::lock_guard lock(mutex_);
    dropping_ = true;
    posted.swap(posted_);
  }
  // Each is moved out first: destroying one may reach the others through detach() or post().
  const auto batch = std::move(batch_);
  const auto timers = std::move(timers_);
  timers_.clear();
  due_.clear();
  while (!resources_.empty()) {
    LoopResource* resource = *resources_.begin();
    resources_.erase(resources_.begin());
    resource->abandon();
  }
}

AsioLoop& asio_loop(Executor& executor) {
  auto* loop = dynamic_cast<AsioLoop*>(&executor);
  BERTH_CHECK(loop != nullptr, "sockets need a loop of a RealRuntime");
  return *loop;
}

struct RealRuntime::Impl {
  SystemClock clock;
  std::mutex mutex;  // guards what follows; loops themselves are stable once made
  std::map<std::string, std::unique_ptr<AsioLoop>, std::less<>> loops;
  std::unique_ptr<asio::thread_pool> pool;
  std::optional<AsioLoop> signal_loop;
  std::optional<asio::signal_set> signals, user_signals;

  void wait_for_user_signal(Executor& home, std::function<void()> then) {
    user_signals->async_wait(
        [this, &home, then = std::move(then)](const boost::system::error_code& error, int) {
          if (error) return;
          home.post(then);
          wait_for_user_signal(home, then);
        });
  }

  // The first signal runs `then`, the second ends the process.
  void wait_for_signal(Executor& home, Task then) {
    signals->async_wait(
        [this, &home, then = std::move(then)](const boost::system::error_code& error, int) mutable {
          if (error) return;
          if (!then) _exit(130);
          home.post(std::move(then));
          wait_for_signal(home, nullptr);
        });
  }
};

RealRuntime::RealRuntime() : impl_(std::make_unique<Impl>()) {}

RealRuntime::~RealRuntime() {
  if (impl_->pool) {
    impl_->pool->stop();
    impl_->pool->join();
  }
  if (impl_->signal_loop) impl_->signal_loop->stop();
  for (auto& [role, loop] : impl_->loops) loop->stop();
  impl_->signals.reset();
  impl_->user_signals.reset();
  impl_->pool.reset();
  for (auto& [role, loop] : impl_->loops) loop->drop();
}

Executor& RealRuntime::loop(std::string_view role) {
  std::lock_guard lock(impl_->mutex);
  auto& loop = impl_->loops[std::string(role)];
  if (!loop) loop = std::make_unique<AsioLoop>(std::string(role), impl_->clock, impl_->clock.start);
  return *loop;
}

void RealRuntime::offload(Executor& back, Task work, Task then) {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->pool)
    impl_->pool =
        std::make_unique<asio::thread_pool>(std::max(1u, std::thread::hardware_concurrency()));
  asio::post(*impl_->pool, [&back, work = std::move(work), then = std::move(then)]() mutable {
    work();
    work = nullptr;  // gone before anybody is told
    back.post(std::move(then));
  });
}

void RealRuntime::on_interrupt(Executor& home, Task then) {
  std::lock_guard lock(impl_->mutex);
  BERTH_CHECK(!impl_->signals, "on_interrupt is called once");
  impl_->signal_loop.emplace("signals", impl_->clock, impl_->clock.start);
  impl_->signals.emplace(impl_->signal_loop->io(), SIGINT, SIGTERM);
  impl_->signal_loop->post([this, &home, then = std::move(then)]() mutable {
    impl_->wait_for_signal(home, std::move(then));
  });
}

void RealRuntime::on_user_signal(Executor& home, std::function<void()> then) {
  std::lock_guard lock(impl_->mutex);
  BERTH_CHECK(impl_->signal_loop && !impl_->user_signals, "called once, after on_interrupt");
  impl_->user_signals.emplace(impl_->signal_loop->io(), SIGUSR2);
  impl_->signal_loop->post([this, &home, then = std::move(then)]() mutable {
    impl_->wait_for_user_signal(home, std::move(then));
  });
}

}  // namespace berth::net
