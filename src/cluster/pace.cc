// SPDX-License-Identifier: Apache-2.0
#include "cluster/pace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace berth::cluster {
namespace {

constexpr Duration kTick = 5ms;        // of real time, between two steps of a world at xK
constexpr Duration kTurn = 5ms;        // of real time, before others may use the loop
constexpr Duration kLongestHold = 1s;  // of real time
constexpr double kMostTimes = 1e6;

}  // namespace

std::optional<Speed> parse_speed(std::string_view text) {
  if (text == "real") return Speed{};
  if (text == "max") return Speed{.mode = Speed::Mode::kMax};
  if (!text.starts_with('x')) return std::nullopt;
  Speed speed{.mode = Speed::Mode::kTimes};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, speed.times);
  if (error != std::errc() || stop != end || !(speed.times > 0) || speed.times > kMostTimes)
    return std::nullopt;
  return speed;
}

// What is posted goes to the loop first, and from there into the lane.
class PacedWorld::Gate final : public Executor {
 public:
  Gate(PacedWorld& world, Executor& lane) : world_(world), alive_(world.alive_), lane_(lane) {}

  void post(Task task) override {
    world_.home_.post(
        [this_world = &world_, alive = alive_, lane = &lane_, task = std::move(task)]() mutable {
          if (!*alive) return;
          lane->post(std::move(task));
          this_world->wake();
        });
  }
  TimerId at(Instant, Task, Timer) override { BERTH_CHECK(false); }
  bool cancel(TimerId) override { return false; }
  const Clock& clock() const override { return lane_.clock(); }
  bool here() const override { return false; }

 private:
  PacedWorld& world_;
  std::shared_ptr<bool> alive_;
  Executor& lane_;
};

PacedWorld::PacedWorld(Executor& home, Speed speed, Seed seed, WallTime earliest,
                       std::function<bool()> hold)
    : home_(home),
      speed_(speed),
      world_(seed, Order::kFifo, std::max(home.clock().wall(), earliest)),
      told_(std::make_shared<Told>(home, world_.clock().wall())),
      hold_(std::move(hold)) {
  BERTH_CHECK(speed.mode != Speed::Mode::kReal);
}

PacedWorld::~PacedWorld() {
  stop();
  *alive_ = false;
}

std::unique_ptr<Executor> PacedWorld::enter(Executor& lane) {
  return std::make_unique<Gate>(*this, lane);
}

void PacedWorld::start() {
  running_ = true;
  real_start_ = home_.clock().now();
  virtual_start_ = world_.clock().now();
  wake();
}

void PacedWorld::stop() {
  running_ = false;
  if (timer_ != TimerId::kNone) home_.cancel(timer_);
  timer_ = TimerId::kNone;
}

void PacedWorld::wake() {
  if (posted_) return;
  posted_ = true;
  home_.post([this, alive = alive_] {
    if (!*alive) return;
    posted_ = false;
    run();
  });
}

std::shared_ptr<void> PacedWorld::when_idle(Task then) {
  std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
  auto wish = std::make_shared<Task>(std::move(then));
  waiting_.push_back(wish);
  wake();
  return wish;
}

std::size_t PacedWorld::waiting() const {
  return static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                                [](const auto& each) { return !each.expired(); }));
}

void PacedWorld::tell_idle() {
  for (const std::weak_ptr<Task>& each : std::exchange(waiting_, {}))
    if (const std::shared_ptr<Task> then = each.lock()) {
      (*then)();
      wake();
    }
}

void PacedWorld::again(Duration later) {
  if (timer_ != TimerId::kNone) return;
  timer_ = home_.at(home_.clock().now() + later, [this, alive = alive_] {
    if (!*alive) return;
    timer_ = TimerId::kNone;
    run();
  });
}

void PacedWorld::run() {
  if (!running_) return;
  if (speed_.mode == Speed::Mode::kTimes)
    run_times();
  else
    run_max();
  told_->is(world_.clock().wall());
}

Duration PacedWorld::scaled(Duration real) const {
  return Duration(static_cast<Duration::rep>(static_cast<double>(real.count()) * speed_.times));
}

void PacedWorld::run_times() {
  const Duration due = scaled(home_.clock().now() - real_start_);
  const Instant until = virtual_start_ + due;
  const Duration slice = scaled(kTick);
  // A world that cannot keep up goes as fast as it can, and others use the loop in between.
  const Instant began = home_.clock().now();
  do {
    const Duration behind = until - world_.clock().now();
    if (behind <= Duration(0)) {
      if (!waiting_.empty() && world_.run_until_idle(Duration(0))) tell_idle();
      return again(kTick);
    }
    world_.run_for(std::min(behind, slice));
  } while (home_.clock().now() - began < kTurn);
  wake();
}

void PacedWorld::run_max() {
  const Instant began = home_.clock().now();
  do {
    // What happens now is done in any case; then time goes on, or does not.
    if (world_.run_until_idle(Duration(0))) {
      held_since_.reset();
      return tell_idle();
    }
    const Instant now = home_.clock().now();
    if (hold_()) {
      if (!held_since_) held_since_ = now;
      if (now - *held_since_ < kLongestHold) return again(kTick);
    }
    held_since_.reset();
    world_.step();
  } while (home_.clock().now() - began < kTurn);
  wake();
}

}  // namespace berth::cluster
