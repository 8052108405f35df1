// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/recommend.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth::scavenge {
namespace {

constexpr WallTime kStart{1'700'000'000'000'000'000};

kube::ResourceList list(std::string_view cpu, std::string_view memory) {
  return {{"cpu", *kube::Quantity::parse(cpu)}, {"memory", *kube::Quantity::parse(memory)}};
}
std::vector<UsageSample> steady(std::string_view cpu, std::string_view memory, int count = 40) {
  std::vector<UsageSample> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back({kStart + std::chrono::seconds(30 * i), list(cpu, memory)});
  return samples;
}
std::string text(const std::optional<Recommendation>& advice) {
  if (!advice) return "none";
  std::string all;
  for (const auto& [resource, quantity] : advice->requests)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", resource, quantity.text());
  return all;
}

TEST(Recommend, R58_WhatIsNotUsedIsGivenBackButForAMargin) {
  const auto advice = recommend(list("4", "8Gi"), steady("1", "1Gi"));
  EXPECT_EQ(text(advice), "cpu=1150m memory=1178Mi");
  EXPECT_EQ(advice->samples, 40u);
  EXPECT_EQ(
      advice->message,
      "cpu: 4 asked for, 1 used, 1.15 would do; memory: 8Gi asked for, 1Gi used, 1.15Gi would "
      "do");
}

TEST(Recommend, R58_NothingIsSaidOfRequestsThatAreAboutRight) {
  EXPECT_EQ(text(recommend(list("4", "8Gi"), steady("3", "7Gi"))), "none");
  EXPECT_EQ(text(recommend(list("4", "8Gi"), steady("3", "1Gi"))), "memory=1178Mi");
}

TEST(Recommend, R58_NothingIsSaidBeforeEnoughWasSeen) {
  EXPECT_EQ(text(recommend(list("4", "8Gi"), steady("1", "1Gi", 19))), "none");
  std::vector<UsageSample> at_once = steady("1", "1Gi");
  for (UsageSample& sample : at_once) sample.at = kStart;
  EXPECT_EQ(text(recommend(list("4", "8Gi"), at_once)), "none");
  EXPECT_EQ(text(recommend(list("4", "8Gi"), {})), "none");
}

TEST(Recommend, AShortPeakOfMemoryCountsAndOneOfCoresDoesNot) {
  std::vector<UsageSample> samples = steady("1", "1Gi");
  samples[7].usage = list("4", "4Gi");
  EXPECT_EQ(text(recommend(list("4", "8Gi"), samples)), "cpu=1150m memory=4711Mi");
}

TEST(Recommend, StaysWithinBounds) {
  EXPECT_EQ(text(recommend(list("1", "1Gi"), steady("9", "1Mi"))), "cpu=4 memory=16Mi");
  EXPECT_EQ(text(recommend(list("4", "8Gi"), steady("0", "0"),
                           {.least = list("2", "1Gi"), .most = list("3", "4Gi")})),
            "cpu=2 memory=1Gi");
  EXPECT_EQ(text(recommend(list("4", "8Gi"), steady("20", "20Gi"), {.most = list("6", "16Gi")})),
            "cpu=6 memory=16Gi");
}

TEST(Recommend, WhatIsNotAskedForOrNotMeasuredIsLeftAlone) {
  kube::ResourceList member = {{"cpu", kube::Quantity::of(4)},
                               {"nvidia.com/gpu", kube::Quantity::of(1)}};
  EXPECT_EQ(text(recommend(member, steady("1", "1Gi"))), "cpu=1150m");
  std::vector<UsageSample> no_cpu = steady("1", "1Gi");
  for (UsageSample& sample : no_cpu) sample.usage.erase("cpu");
  EXPECT_EQ(text(recommend(member, no_cpu)), "none");
}

}  // namespace
}  // namespace berth::scavenge
