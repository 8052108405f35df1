// SPDX-License-Identifier: Apache-2.0
// What stands for real time here is a world too, so that nothing waits.
#include "cluster/pace.h"

#include <gtest/gtest.h>

#include "cluster/cluster_time.h"

namespace berth::cluster {
namespace {

struct Paced {
  explicit Paced(std::string_view speed, WallTime earliest = {})
      : paced(real.loop("world"), *parse_speed(speed), 1, earliest, [this] { return held; }) {}

  World real{1};
  bool held = false;
  PacedWorld paced;
};

TEST(Speed, IsRealAFactorOrAsFastAsItGoes) {
  EXPECT_EQ(parse_speed("real")->mode, Speed::Mode::kReal);
  EXPECT_EQ(parse_speed("max")->mode, Speed::Mode::kMax);
  EXPECT_EQ(parse_speed("x2.5")->times, 2.5);
  for (const char* wrong : {"", "x", "x0", "x-1", "10", "xnan", "xinf", "x1e9", "x10s", "fast"})
    EXPECT_FALSE(parse_speed(wrong)) << wrong;
}

TEST(PacedWorld, AtTimesTenIsTenTimesAsFarAsRealTime) {
  Paced it("x10");
  it.paced.start();
  const Instant start = it.paced.world().clock().now();
  it.real.run_for(3s);
  const Duration passed = it.paced.world().clock().now() - start;
  EXPECT_LE(passed, 30s);
  EXPECT_GE(passed, 29s);
  it.paced.stop();
}

TEST(PacedWorld, BeginsWhereItWasUnlessRealTimeIsFurther) {
  for (const char* speed : {"max", "x60"}) {
    Paced ahead(speed, World::kNewYear2026 + 36h);
    EXPECT_EQ(ahead.paced.world().clock().wall(), World::kNewYear2026 + 36h);
    EXPECT_EQ(ahead.paced.clock()->wall(), World::kNewYear2026 + 36h);
    Paced behind(speed, World::kNewYear2026 - 36h);
    EXPECT_EQ(behind.paced.world().clock().wall(), World::kNewYear2026);
  }
}

TEST(PacedWorld, WhatRunsBesideItTellsItsWallTimeAndKeepsItsOwnTimers) {
  Paced it("x60");
  OnClusterTime beside(it.real.loop("gateway"), it.paced.clock());
  const WallTime began = beside.clock().wall();
  const Instant start = beside.clock().now();
  it.paced.start();
  WallTime seen;
  beside.at(
      start + 2s, [&] { seen = beside.clock().wall(); }, Timer::kWork);
  it.real.run_for(3s);
  EXPECT_GE(seen - began, 119s);
  EXPECT_LE(seen - began, 120s);
  EXPECT_EQ(beside.clock().now() - start, 3s);
  EXPECT_EQ(beside.clock().wall(), it.paced.world().clock().wall());
  it.paced.stop();
}

TEST(PacedWorld, AtFullSpeedStopsWhenNothingIsLeftToDo) {
  Paced it("max");
  Executor& lane = it.paced.world().loop("api");
  bool rang = false;
  lane.at(lane.clock().now() + 24h, [&] { rang = true; });
  lane.at(
      lane.clock().now() + 48h, [] {}, Timer::kBackground);
  const Instant start = it.paced.world().clock().now();
  it.paced.start();
  it.real.run_for(1s);
  EXPECT_TRUE(rang);
  EXPECT_EQ(it.paced.world().clock().now() - start, 24h) << "background timers do not drive time";
}

TEST(PacedWorld, AtFullSpeedWaitsForOpenRequestsButNotForEver) {
  Paced it("max");
  it.held = true;
  Executor& lane = it.paced.world().loop("api");
  bool rang = false;
  lane.at(lane.clock().now() + 1h, [&] { rang = true; });
  it.paced.start();
  it.real.run_for(900ms);
  EXPECT_FALSE(rang);
  it.real.run_for(200ms);
  EXPECT_TRUE(rang);
}

TEST(PacedWorld, TellsWhenNothingIsLeftToDoAtEverySpeed) {
  for (const char* speed : {"max", "x60"}) {
    Paced it(speed);
    Executor& lane = it.paced.world().loop("api");
    const Instant start = lane.clock().now();
    lane.at(start + 10min, [] {});
    lane.at(
        start + 48h, [] {}, Timer::kBackground);
    std::optional<Duration> idle_after;
    const auto wish = it.paced.when_idle([&] { idle_after = lane.clock().now() - start; });
    bool told = false;
    auto given_up = it.paced.when_idle([&] { told = true; });
    EXPECT_EQ(it.paced.waiting(), 2u);
    given_up.reset();
    EXPECT_EQ(it.paced.waiting(), 1u);
    it.paced.start();
    it.real.run_for(9s);
    EXPECT_EQ(idle_after.has_value(), std::string_view(speed) == "max");
    it.real.run_for(2s);
    ASSERT_TRUE(idle_after.has_value()) << speed;
    EXPECT_GE(*idle_after, 10min);
    EXPECT_LT(*idle_after, 11min);
    EXPECT_EQ(it.paced.waiting(), 0u);
    EXPECT_FALSE(told);
    it.paced.stop();
  }
}

TEST(PacedWorld, IsEnteredFromOutside) {
  Paced it("max");
  Executor& lane = it.paced.world().loop("api");
  const std::unique_ptr<Executor> gate = it.paced.enter(lane);
  bool there = false;
  it.paced.start();
  it.real.run_for(1s);
  gate->post([&] { there = lane.here(); });
  EXPECT_FALSE(there);
  it.real.run_for(1s);
  EXPECT_TRUE(there);
}

}  // namespace
}  // namespace berth::cluster
