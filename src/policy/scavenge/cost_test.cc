// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::scavenge {
namespace {

using testing::ElementsAre;

constexpr WallTime kStart{1'700'000'000'000'000'000};

CostBasis basis(int steps = 3, Duration window = 30min) {
  return {.since = kStart, .rate_milli = 4000, .window = window, .steps = steps};
}
kube::ResourceList requests(std::string_view cpu, std::string_view memory,
                            std::string_view gpu = "0") {
  return {{"cpu", *kube::Quantity::parse(cpu)},
          {"memory", *kube::Quantity::parse(memory)},
          {"nvidia.com/gpu", *kube::Quantity::parse(gpu)}};
}

TEST(RunningPriority, R29_RisesInStepsAndStartsOver) {
  std::vector<int> three, five;
  for (int minutes = 0; minutes <= 40; minutes += 10)
    three.push_back(running_priority(basis(), kStart + std::chrono::minutes(minutes)));
  EXPECT_THAT(three, ElementsAre(0, 1, 2, 0, 1));
  for (int minutes = 0; minutes <= 36; minutes += 6)
    five.push_back(running_priority(basis(5), kStart + std::chrono::minutes(minutes)));
  EXPECT_THAT(five, ElementsAre(0, 1, 2, 3, 4, 0, 1));
}

TEST(RunningPriority, StepsThatDoNotDivideTheWindowStayInRange) {
  const CostBasis odd = basis(7, Duration(100));
  for (std::int64_t nanos = 0; nanos < 300; ++nanos) {
    EXPECT_GE(running_priority(odd, kStart + Duration(nanos)), 0);
    EXPECT_LT(running_priority(odd, kStart + Duration(nanos)), 7);
  }
  EXPECT_EQ(running_priority(odd, kStart + Duration(99)), 6);
  EXPECT_EQ(running_priority(odd, kStart + Duration(100)), 0);
}

TEST(StartOver, R24_AdvancesByExactlyAWindow) {
  EXPECT_EQ(start_over(basis(), kStart + 29min + 59s), std::nullopt);
  EXPECT_EQ(start_over(basis(), kStart + 30min), kStart + 30min);
  EXPECT_EQ(start_over(basis(), kStart + 95min), kStart + 90min);
}

TEST(NextStep, R30_NamesEveryChangeOfThePriority) {
  WallTime now = kStart;
  std::vector<int> minutes, priorities;
  for (int i = 0; i < 5; ++i) {
    now = next_step(basis(), now);
    minutes.push_back(static_cast<int>((now - kStart) / 1min));
    priorities.push_back(running_priority(basis(), now));
  }
  EXPECT_THAT(minutes, ElementsAre(10, 20, 30, 40, 50));
  EXPECT_THAT(priorities, ElementsAre(1, 2, 0, 1, 2));
  EXPECT_EQ(next_step(basis(1), kStart + 5min), kStart + 30min);
}

TEST(NextStep, NothingChangesBeforeIt) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const CostBasis one = basis(1 + static_cast<int>(random.below(9)),
                                Duration(1 + static_cast<std::int64_t>(random.below(1000))));
    const WallTime now = kStart + Duration(static_cast<std::int64_t>(random.below(5000)));
    const WallTime next = next_step(one, now);
    ASSERT_GT(next, now);
    EXPECT_EQ(running_priority(one, next - Duration(1)), running_priority(one, now));
    EXPECT_EQ(start_over(one, next - Duration(1)), start_over(one, now));
  }
}

TEST(Cost, IsTheRateTimesTheTimeSinceTheLastCheckpoint) {
  CostBasis reporting = basis();
  reporting.reported = true;
  reporting.restart = 7;
  EXPECT_EQ(lost_time(reporting, kStart + 12min), 12min);
  EXPECT_EQ(cost_at(reporting, kStart + 12min), 4000 * 720 + 7);
  EXPECT_EQ(cost_at(reporting, kStart + 1500ms), 6000 + 7);
  reporting.since = kStart + 10min;
  EXPECT_EQ(cost_at(reporting, kStart + 12min), 4000 * 120 + 7);
}

TEST(Cost, OfAJobThatReportsNothingGrowsInSteps) {
  EXPECT_EQ(cost_at(basis(), kStart + 9min), 0);
  EXPECT_EQ(cost_at(basis(), kStart + 19min), 4000 * 600);
  EXPECT_EQ(cost_at(basis(), kStart + 29min), 4000 * 1200);
  EXPECT_EQ(cost_at(basis(), kStart + 30min), 0);
}

TEST(Cost, R28_TheYoungerIsCheaperUntilTheOlderStartsOver) {
  CostBasis older = basis(), younger = basis();
  younger.since = kStart + 10min;
  EXPECT_LT(cost_at(younger, kStart + 15min), cost_at(older, kStart + 15min));
  EXPECT_LT(cost_at(older, kStart + 31min), cost_at(younger, kStart + 31min));
}

TEST(Cost, IsNothingBeforeItsTimeAndForNonsense) {
  EXPECT_EQ(cost_at(basis(), kStart - 5min), 0);
  EXPECT_EQ(cost_at({}, kStart), 0);
  CostBasis odd = basis();
  odd.steps = 0;
  odd.rate_milli = -5;
  odd.restart = -9;
  EXPECT_EQ(cost_at(odd, kStart + 29min), 0);
  odd.window = -5min;
  EXPECT_EQ(lost_time(odd, kStart + 29min), Duration{});
  EXPECT_EQ(start_over(odd, kStart + 29min), std::nullopt);
  EXPECT_GT(next_step(odd, kStart), kStart);
}

TEST(Cost, NeverOverflows) {
  CostBasis huge{.since = {INT64_MIN}, .rate_milli = INT64_MAX, .window = Duration::max()};
  huge.reported = true;
  huge.restart = INT64_MAX;
  EXPECT_EQ(cost_at(huge, {INT64_MAX}), INT64_MAX);
  huge.since = {0};
  EXPECT_EQ(cost_at(huge, {INT64_MAX}), INT64_MAX);
}

// What reporting is worth: the same job, the same moment, and nobody gains by silence.
TEST(Cost, R31_ASilentJobIsNeverDearerThanTheSameJobReporting) {
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    CostBasis silent{
        .since = kStart,
        .rate_milli = static_cast<std::int64_t>(random.below(1'000'000)),
        .window = 15min + Duration(static_cast<std::int64_t>(random.below(13'500'000'000'000))),
        .steps = 1 + static_cast<int>(random.below(20)),
        .restart = static_cast<std::int64_t>(random.below(1'000'000)),
        .interval = Duration(static_cast<std::int64_t>(random.below(7'200'000'000'000)))};
    CostBasis reporting = silent;
    reporting.reported = true;
    const WallTime now =
        kStart + Duration(static_cast<std::int64_t>(random.below(100'000'000'000'000)));
    ASSERT_LE(cost_at(silent, now), cost_at(reporting, now));
    ASSERT_LT(lost_time(reporting, now), silent.window);
    // False reports move the beginning forward, which only makes cheaper within the window.
    CostBasis liar = reporting;
    liar.since = now - Duration(static_cast<std::int64_t>(random.below(
                           static_cast<std::uint64_t>(lost_time(reporting, now).count() + 1))));
    ASSERT_LE(cost_at(liar, now), cost_at(reporting, now));
  }
}

TEST(Cost, OfAJobThatSaysHowOftenItWritesIsWhatItLosesInTheMean) {
  CostBasis silent = basis();
  silent.interval = 8min;
  EXPECT_EQ(lost_time(silent, kStart), 0min);
  EXPECT_EQ(lost_time(silent, kStart + 3min), 3min) << "it has written none yet";
  for (const Duration later : {4min, 9min, 15min, 29min})
    EXPECT_EQ(lost_time(silent, kStart + later), 4min);
  EXPECT_EQ(lost_time(silent, kStart + 30min), 0min) << "starts over all the same";
}

TEST(Cost, NoIntervalThatIsOnlySaidProtectsMoreThanNone) {
  const auto mean = [](Duration interval) {
    CostBasis silent = basis();
    silent.interval = interval;
    Duration all{};
    for (Duration at{}; at < 30min; at += 1s) all += lost_time(silent, kStart + at);
    return all / 1800;
  };
  for (Duration interval = 1min; interval < 24h; interval += 1min)
    ASSERT_LE(mean(interval), mean(0min)) << interval / 1min;
}

TEST(Cost, NobodyIsProtectedForLongerThanAWindow) {
  CostBasis once = basis();
  once.reported = true;  // and never again
  for (int windows = 1; windows < 50; ++windows) {
    EXPECT_EQ(cost_at(once, kStart + 30min * windows), 0);
    EXPECT_EQ(cost_at(basis(), kStart + 30min * windows), 0);
  }
}

TEST(Rate, CountsCoresMemoryAndGpusOfAllMembers) {
  EXPECT_EQ(rate_milli(requests("2", "16Gi"), 1), 2000 + 16 * 125);
  EXPECT_EQ(rate_milli(requests("500m", "512Mi"), 4), 4 * (500 + 62));
  EXPECT_EQ(rate_milli(requests("1", "0", "2"), 3), 3 * (1000 + 32'000));
  EXPECT_EQ(rate_milli(requests("1", "8Gi", "1"), 1, {.core_milli = 0, .gib_milli = 10}),
            80 + 16'000);
  EXPECT_EQ(rate_milli({}, 5), 0);
}

TEST(Rate, KnowsCardsOfAnyVendorAndTheirSlices) {
  for (const char* name : {"nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared",
                           "nvidia.com/mig-1g.5gb", "gpu.intel.com/i915"})
    EXPECT_EQ(rate_milli({{name, kube::Quantity::of(1)}}, 1), 16'000) << name;
  for (const char* name : {"gpu", "example.com/gpumem", "gpu.intel.com/memory.max", "cpu-like/x"})
    EXPECT_EQ(rate_milli({{name, kube::Quantity::of(1)}}, 1), 0) << name;
}

TEST(Rate, NeverOverflows) {
  EXPECT_EQ(rate_milli({{"a/gpu", kube::Quantity::of(INT64_MAX)}}, 1000), INT64_MAX);
}

}  // namespace
}  // namespace berth::scavenge
