// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/regulate.h"

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scavenge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr WallTime kStart{1'700'000'000'000'000'000};

kube::ResourceList cpu(std::int64_t cores) { return {{"cpu", kube::Quantity::of(cores)}}; }
RunningJob job(std::string uid, std::int64_t cores, std::int64_t cost, int tier = 0) {
  return {.uid = std::move(uid), .tier = tier, .cost = cost, .member = cpu(cores)};
}
Regulation at(std::int64_t used, const std::vector<RunningJob>& jobs, RegulatorState state = {},
              WallTime now = kStart, RegulatorRules rules = {}) {
  return regulate(cpu(100), cpu(used), jobs, state, rules, now);
}

TEST(Regulate, BeginsAboveTheUpperMarkAndGoesDownToTheThreshold) {
  const std::vector<RunningJob> jobs = {job("a", 10, 5), job("b", 10, 3), job("c", 10, 4)};
  EXPECT_THAT(at(85, jobs).end, IsEmpty());
  const Regulation begun = at(86, jobs);
  EXPECT_THAT(begun.end, ElementsAre("b", "c"));  // 16 have to go
  EXPECT_TRUE(begun.state.active);
  EXPECT_EQ(begun.state.last_ended, kStart);
  EXPECT_EQ(begun.message, "cpu: 86 of 100 in use, 70 are meant to be");
}

TEST(Regulate, OnceBegunItGoesOnBelowTheUpperMarkUntilItIsDown) {
  const std::vector<RunningJob> jobs = {job("a", 10, 5)};
  EXPECT_THAT(at(75, jobs).end, IsEmpty());
  EXPECT_THAT(at(75, jobs, {.active = true}).end, ElementsAre("a"));
  EXPECT_FALSE(at(70, jobs, {.active = true}).state.active);
}

TEST(Regulate, WaitsForTheRoomOfThoseWhoGo) {
  std::vector<RunningJob> jobs = {job("a", 10, 5), job("b", 10, 6)};
  const RegulatorState state{.active = true, .last_ended = kStart};
  const Regulation waits = at(90, jobs, state, kStart + 10s);
  EXPECT_THAT(waits.end, IsEmpty());
  EXPECT_EQ(waits.look_again, kStart + 30s);
  EXPECT_THAT(at(90, jobs, state, kStart + 30s).end, ElementsAre("a", "b"));
  jobs[0].ending = true;  // its room counts as free already
  EXPECT_THAT(at(80, jobs, state, kStart + 30s).end, IsEmpty());
  EXPECT_THAT(at(85, jobs, state, kStart + 30s).end, ElementsAre("b"));
}

TEST(Regulate, LowerTiersGoFirstAndLeastIsLost) {
  EXPECT_THAT(at(90, {job("a", 20, 1, 1), job("b", 20, 99, 0)}).end, ElementsAre("b"));
  EXPECT_THAT(at(90, {job("a", 20, 50), job("b", 10, 20), job("c", 10, 20)}).end,
              ElementsAre("b", "c"));
}

TEST(Regulate, EndsWhatThereIsWhereEvenThatIsNotEnough) {
  EXPECT_THAT(at(100, {job("a", 5, 1)}).end, ElementsAre("a"));
  EXPECT_THAT(at(100, {}).end, IsEmpty());
}

TEST(Regulate, WatchesEachResourceThatScavengersHave) {
  RunningJob with_gpu = job("a", 1, 1);
  with_gpu.member["nvidia.com/gpu"] = kube::Quantity::of(2);
  const kube::ResourceList capacity = {{"cpu", kube::Quantity::of(100)},
                                       {"nvidia.com/gpu", kube::Quantity::of(4)}};
  const kube::ResourceList used = {{"cpu", kube::Quantity::of(10)},
                                   {"nvidia.com/gpu", kube::Quantity::of(4)}};
  const std::vector<RunningJob> both = {with_gpu, job("b", 1, 0)};
  EXPECT_THAT(regulate(capacity, used, both, {}, {}, kStart).end, ElementsAre("a"));
  const std::vector<RunningJob> other = {job("b", 1, 0)};
  EXPECT_THAT(regulate(capacity, used, other, {}, {}, kStart).end, IsEmpty());
}

TEST(Regulate, AnUpperMarkBelowTheThresholdCountsAsTheThreshold) {
  const RegulatorRules odd{.threshold_percent = 70, .upper_percent = 10};
  EXPECT_THAT(at(70, {job("a", 10, 1)}, {}, kStart, odd).end, IsEmpty());
  EXPECT_THAT(at(71, {job("a", 10, 1)}, {}, kStart, odd).end, ElementsAre("a"));
}

TEST(Regulate, ManyJobsAreTakenAFewAtATime) {
  std::vector<RunningJob> jobs;
  for (int i = 0; i < 5000; ++i) jobs.push_back(job(fmt::format("{:04}", i), 1, i));
  const Regulation step = regulate(cpu(5000), cpu(5000), jobs, {}, {}, kStart);
  EXPECT_EQ(step.end.size(), 200u);
  EXPECT_EQ(step.end.front(), "0000");
}

// F14: ordinary use swings evenly around the marks; scavengers start below the threshold and
// end above the upper mark. A window is one period: at most one beginning of work that ends.
TEST(Regulate, F14_DoesNotFlapUnderALoadThatSwings) {
  RegulatorState state;
  std::int64_t scavengers = 0;
  int begun = 0, periods = 20;
  for (int minute = 0; minute < periods * 60; ++minute) {
    const WallTime now = kStart + std::chrono::minutes(minute);
    const auto ordinary = static_cast<std::int64_t>(
        std::lround(50 - 25 * std::cos(2 * std::numbers::pi * minute / 60)));
    while (ordinary + scavengers + 2 <= 70) scavengers += 2;
    std::vector<RunningJob> jobs;
    for (std::int64_t i = 0; i < scavengers / 2; ++i)
      jobs.push_back(job(fmt::format("{:03}", i), 2, 1));
    const bool before = state.active;
    const Regulation step = at(ordinary + scavengers, jobs, state, now);
    state = step.state;
    begun += !before && state.active;
    scavengers -= 2 * static_cast<std::int64_t>(step.end.size());
    ASSERT_LE(ordinary + scavengers, 87);
  }
  EXPECT_GT(begun, 0);
  EXPECT_LE(begun, periods);
}

}  // namespace
}  // namespace berth::scavenge
