// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/tracks.h"

#include <gtest/gtest.h>

#include "gateway/scavenge/job_for_test.h"

namespace berth::gateway {
namespace {

TEST(Tracks, APieceGoesOnWhileTheCostIsWorkedOutFromTheSame) {
  Tracks tracks;
  const auto job = TestJob("a").running(kNoon).view();
  tracks.put(job, kNoon + 1min);
  tracks.put(job, kNoon + 5min);
  ASSERT_EQ(tracks.of("u-a").size(), 1U);
  EXPECT_EQ(tracks.of("u-a")[0].from, kNoon);
  EXPECT_FALSE(tracks.of("u-a")[0].to);
}

TEST(Tracks, ACheckpointEndsAPieceAndNothingIsLost) {
  Tracks tracks;
  tracks.put(TestJob("a").running(kNoon, true).view(), kNoon + 1min);
  tracks.put(TestJob("a")
                 .phase("Running")
                 .with("attempt", "1")
                 .times("runningTimestamps", {kNoon})
                 .cost(kNoon + 7min, true)
                 .view(),
             kNoon + 8min);
  ASSERT_EQ(tracks.of("u-a").size(), 2U);
  EXPECT_EQ(tracks.of("u-a")[0].to, kNoon + 7min);
  EXPECT_FALSE(tracks.of("u-a")[0].lost);
  EXPECT_EQ(tracks.of("u-a")[1].from, kNoon + 7min);
}

TEST(Tracks, AnInterruptionEndsAPieceAtTheHeightThatWasLost) {
  Tracks tracks;
  tracks.put(TestJob("a").running(kNoon, true).view(), kNoon + 1min);
  tracks.put(TestJob("a")
                 .phase("Interrupted")
                 .with("attempt", "1")
                 .with("closedAttempt", "1")
                 .times("runningTimestamps", {kNoon})
                 .times("interruptedTimestamps", {kNoon + 10min})
                 .cost(kNoon, true)
                 .view(),
             kNoon + 10min + 2s);
  ASSERT_EQ(tracks.of("u-a").size(), 1U);
  EXPECT_EQ(tracks.of("u-a")[0].to, kNoon + 10min);
  EXPECT_EQ(tracks.of("u-a")[0].lost, 4 * 600 * 1000);
}

TEST(Tracks, RunsOfAJobThatReportsNothingAreKnownFromItsStatus) {
  Tracks tracks;
  tracks.put(TestJob("a")
                 .phase("Running")
                 .with("attempt", "3")
                 .with("closedAttempt", "2")
                 .times("runningTimestamps", {kNoon - 10h, kNoon - 60min, kNoon - 20min})
                 .times("interruptedTimestamps", {kNoon - 9h, kNoon - 30min})
                 .cost(kNoon - 20min, false)
                 .view(),
             kNoon);
  const auto& pieces = tracks.of("u-a");
  ASSERT_EQ(pieces.size(), 2U) << "the first is too old";
  EXPECT_EQ(pieces[0].from, kNoon - 60min);
  EXPECT_EQ(pieces[0].to, kNoon - 30min);
  EXPECT_EQ(pieces[0].lost, 0) << "the window had just ended";
  EXPECT_EQ(pieces[1].from, kNoon - 20min);
  EXPECT_FALSE(pieces[1].to);
}

TEST(Tracks, WhatIsOlderThanItIsShownGoes) {
  Tracks tracks;
  tracks.put(TestJob("a").running(kNoon, true).view(), kNoon);
  const auto over = TestJob("a")
                        .phase("Interrupted")
                        .with("attempt", "1")
                        .with("closedAttempt", "1")
                        .times("runningTimestamps", {kNoon})
                        .times("interruptedTimestamps", {kNoon + 1min})
                        .view();
  tracks.put(over, kNoon + 1min);
  EXPECT_EQ(tracks.of("u-a").size(), 1U);
  tracks.put(over, kNoon + 3h);
  EXPECT_TRUE(tracks.of("u-a").empty());
  tracks.remove("u-a");
  EXPECT_TRUE(tracks.of("u-a").empty());
}

}  // namespace
}  // namespace berth::gateway
