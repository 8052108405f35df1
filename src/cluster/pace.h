// SPDX-License-Identifier: Apache-2.0
// A virtual world that keeps in step with real time, or runs as fast as it can, on a real loop: so
// that a cluster in virtual time can be reached over sockets.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/world.h"

namespace berth::cluster {

// How fast a cluster's time passes.
struct Speed {
  enum class Mode : unsigned char { kReal, kTimes, kMax };
  Mode mode = Mode::kReal;
  double times = 1;
};
// "real", "x60", "max"; nothing for any other text.
std::optional<Speed> parse_speed(std::string_view);

// The world lives on `home`, a real loop, and is touched there only; everything else loop-confined
// to it as well, but for enter().
class PacedWorld {
 public:
  // It begins now, or at `earliest` if that is later.
  // `hold`: asked at every stop of time; while it is true, time at full speed does not go on. A
  // second of real time later it goes on nevertheless, so that nobody waits for himself.
  PacedWorld(Executor& home, Speed, Seed, WallTime earliest, std::function<bool()> hold);
  ~PacedWorld();

  World& world() { return world_; }
  // The world's wall time, for everybody: thread-safe. Its now() is the real loop's, which outlives
  // it.
  std::shared_ptr<const Clock> clock() const { return told_; }
  // The way into a lane from outside: post() from any thread. It has no timers.
  std::unique_ptr<Executor> enter(Executor& lane);
  void start();
  void stop();
  void wake();  // something was put into a lane from outside
  // Runs `then` outside every lane once nothing is left to do but what happens for ever, if what is
  // returned is still held by then.
  [[nodiscard]] std::shared_ptr<void> when_idle(Task then);
  std::size_t waiting() const;  // for that

 private:
  class Gate;
  class Told final : public Clock {
   public:
    Told(const Executor& home, WallTime wall) : home_(home), wall_(wall.unix_nanos) {}
    Instant now() const override { return home_.clock().now(); }
    WallTime wall() const override { return {wall_.load(std::memory_order_relaxed)}; }
    void is(WallTime wall) { wall_.store(wall.unix_nanos, std::memory_order_relaxed); }

   private:
    const Executor& home_;
    std::atomic<std::int64_t> wall_;
  };
  void run();
  Duration scaled(Duration real) const;
  void run_times();
  void run_max();
  void again(Duration);
  void tell_idle();

  Executor& home_;
  Speed speed_;
  World world_;
  const std::shared_ptr<Told> told_;
  std::function<bool()> hold_;
  Instant real_start_{}, virtual_start_{};
  std::optional<Instant> held_since_;
  std::vector<std::weak_ptr<Task>> waiting_;
  TimerId timer_ = TimerId::kNone;
  bool posted_ = false, running_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::cluster
