// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/advice.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::scavenge {
namespace {

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

TEST(Advice, F17_IsCloseToYoungsRuleWhereCheckpointsAreCheap) {
  for (const Duration cost : {Duration(1s), Duration(5s), Duration(20s), Duration(30s)})
    for (const Duration between : {Duration(1h), Duration(4h), Duration(24h)}) {
      const double young = std::sqrt(2 * seconds(cost) * seconds(between));
      EXPECT_NEAR(seconds(*advised_interval(cost, between)), young, 0.05 * young);
    }
  EXPECT_EQ(advised_interval(20s, 1h), 366s);
}

TEST(Advice, StaysBetweenTheCostAndTheMeanTime) {
  EXPECT_EQ(advised_interval(1h, 10min), 1h);
  for (const Duration cost : {Duration(1s), Duration(1min), Duration(10min), Duration(19min)}) {
    const Duration advised = *advised_interval(cost, 10min);
    EXPECT_GE(advised, cost);
    EXPECT_LE(advised, std::max<Duration>(cost, 10min));
  }
}

TEST(Advice, IsNoneWhileSomethingIsNotKnown) {
  EXPECT_EQ(advised_interval(0s, 1h), std::nullopt);
  EXPECT_EQ(advised_interval(20s, 0s), std::nullopt);
  EXPECT_EQ(mean_between({}), std::nullopt);
}

TEST(Advice, F17_WastesLessThanCheckpointsEveryHalfAnHour) {
  const Duration advised = *advised_interval(20s, 1h);
  EXPECT_NEAR(waste(advised, 20s, 1h), 0.105, 0.001);
  EXPECT_NEAR(waste(30min, 20s, 1h), 0.261, 0.001);
  EXPECT_EQ(waste(0s, 20s, 1h), 1);
}

TEST(Advice, LearnsFromTheLastThirtyInterruptions) {
  std::vector<Duration> runs(100, 1min);
  runs.insert(runs.end(), 30, 1h);
  EXPECT_EQ(mean_between(runs), 1h);
  runs.back() = 4h;
  EXPECT_GT(*mean_between(runs), 1h);
}

// Lost time of a job that is interrupted at random, simulated second by second of work.
TEST(Advice, F17_FollowingItLosesLessInASimulation) {
  const auto lost = [](Duration interval, std::uint64_t seed) {
    Random random(seed);
    double sum = 0, ran = 0;
    for (int i = 0; i < 2000; ++i) {
      const double run = -3600 * std::log(1 - random.unit());
      const double cycle = seconds(interval) + 20;
      const double done = std::floor(run / cycle);
      sum += run - done * seconds(interval);
      ran += run;
    }
    return sum / ran;
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_LT(lost(*advised_interval(20s, 1h), seed), 0.6 * lost(30min, seed)) << "seed " << seed;
}

}  // namespace
}  // namespace berth::scavenge
