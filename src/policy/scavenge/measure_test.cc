// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/measure.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth::scavenge {
namespace {

constexpr WallTime kStart{1'700'000'000'000'000'000};

TEST(AcceptedCheckpoint, LiesBetweenWhatIsKnownAndTheMomentItWasSeen) {
  const WallTime seen = kStart + 10min;
  EXPECT_EQ(accepted_checkpoint(kStart + 9min, kStart, seen, std::nullopt), kStart + 9min);
  EXPECT_EQ(accepted_checkpoint(kStart + 24h, kStart, seen, std::nullopt), seen);
  EXPECT_EQ(accepted_checkpoint(kStart, kStart, seen, std::nullopt), std::nullopt);
  EXPECT_EQ(accepted_checkpoint(kStart - 5min, kStart, seen, std::nullopt), std::nullopt);
}

TEST(AcceptedCheckpoint, IsTakenEveryTenSecondsAtMost) {
  const WallTime last = kStart + 1min;
  EXPECT_EQ(accepted_checkpoint(last + 9s, kStart, last + 9s, last), std::nullopt);
  EXPECT_EQ(accepted_checkpoint(last + 10s, kStart, last + 10s, last), last + 10s);
}

// A hostile program: whatever it reports, it is never dearer than with nothing at all reported.
TEST(AcceptedCheckpoint, NeverMakesAJobDearer) {
  CostBasis basis{.since = kStart, .rate_milli = 1000, .window = 30min, .steps = 3};
  basis.reported = true;
  const WallTime now = kStart + 20min;
  for (const Duration lie : {Duration(-24h), Duration(1ms), Duration(5min), Duration(10000h)}) {
    CostBasis after = basis;
    after.since = accepted_checkpoint(kStart + lie, kStart, now, std::nullopt).value_or(kStart);
    EXPECT_LE(cost_at(after, now), cost_at(basis, now));
  }
}

TEST(CheckpointCost, IsTheMiddleOfWhatWasReported) {
  EXPECT_EQ(checkpoint_cost({}, 30min), std::nullopt);
  EXPECT_EQ(checkpoint_cost(std::vector<Duration>{-5s, 0s}, 30min), std::nullopt);
  EXPECT_EQ(checkpoint_cost(std::vector<Duration>{20s, 1h, 18s, 22s, 1s}, 30min), 20s);
  EXPECT_EQ(checkpoint_cost(std::vector<Duration>{1h}, 30min), 7min + 30s);
  std::vector<Duration> changed(100, 5s);
  changed.insert(changed.end(), 30, 40s);
  EXPECT_EQ(checkpoint_cost(changed, 30min), 40s);
}

TEST(RestartTime, IsWhatAStartTakesBeforeItsFirstProgress) {
  EXPECT_EQ(restart_time(kStart, kStart + 90s, std::nullopt, 30min), 90s);
  EXPECT_EQ(restart_time(kStart, kStart + 6min, 5min, 30min), 1min);
  EXPECT_EQ(restart_time(kStart, kStart + 4min, 5min, 30min), 0s);
  EXPECT_EQ(restart_time(kStart, kStart - 1min, std::nullopt, 30min), 0s);
}

TEST(RestartTime, IsAQuarterOfTheWindowAtMost) {
  EXPECT_EQ(restart_time(kStart, kStart + 24h, std::nullopt, 30min), 7min + 30s);
  EXPECT_EQ(restart_time(kStart, kStart + 24h, std::nullopt, 0s), 0s);
  EXPECT_EQ(restart_cost(90s, 2500), 225'000);
  EXPECT_EQ(restart_cost(-90s, 2500), 0);
  EXPECT_EQ(restart_cost(Duration::max(), INT64_MAX), INT64_MAX);
}

TEST(BackOff, F16_DoublesFromHalfAMinuteToTenMinutes) {
  const std::vector<Duration> expected = {0s, 30s, 1min, 2min, 4min, 8min, 10min, 10min};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(back_off(static_cast<std::int64_t>(i)), expected[i]) << i;
  EXPECT_EQ(back_off(INT64_MAX), 10min);
  EXPECT_EQ(back_off(-1), 0s);
}

TEST(BackOff, F16_DoesNotBeginWhileThePodThatNeededTheRoomWaits) {
  EXPECT_EQ(not_before(kStart, 2, true), std::nullopt);
  EXPECT_EQ(not_before(kStart, 2, false), kStart + 1min);
}

}  // namespace
}  // namespace berth::scavenge
