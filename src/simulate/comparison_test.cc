// SPDX-License-Identifier: Apache-2.0
#include "simulate/comparison.h"

#include <gtest/gtest.h>

namespace berth::simulate {
namespace {

Scenario small(Seed seed) {
  Scenario scenario{.trace = {}, .programs = {}};
  scenario.nodes = 3;
  scenario.node_cores = 16;
  scenario.node_gib = 64;
  scenario.length = 6h;
  scenario.seed = seed;
  scenario.trace = cut(made_up_trace(Random(seed).fork("trace"), 3 * 16'000, 10h), 2h, 6h);
  scenario.programs = backlog(Random(seed).fork("backlog"), 10, 20);
  return scenario;
}

void expect_sound(const Scenario& scenario, const Outcome& outcome) {
  EXPECT_EQ(outcome.ordinary_pods, scenario.trace.pods.size());
  EXPECT_GT(outcome.ordinary_utilisation, 0.1);
  EXPECT_LE(outcome.utilisation, 1.0);
  EXPECT_LE(outcome.useful_core_hours + outcome.lost_core_hours, outcome.held_core_hours);
  EXPECT_EQ(outcome.utilisation_over_time.size(), 12u);
  for (std::size_t i = 1; i < outcome.lost_over_time.size(); ++i)
    EXPECT_GE(outcome.lost_over_time[i], outcome.lost_over_time[i - 1]);
}

TEST(Comparison, LivesWithoutScavengers) {
  const Scenario scenario = small(1);
  const auto outcome = live(scenario, Variant::kNone);
  ASSERT_TRUE(outcome) << outcome.error().message;
  expect_sound(scenario, *outcome);
  EXPECT_EQ(outcome->held_core_hours, 0);
  EXPECT_EQ(outcome->interruptions, 0);
  EXPECT_EQ(outcome->wait_p50, Duration{}) << "nothing is in the way";
}

TEST(Comparison, PlainJobsOfALowPriorityFillTheClusterAndGiveWay) {
  const Scenario scenario = small(1);
  const auto none = live(scenario, Variant::kNone), plain = live(scenario, Variant::kPlain);
  ASSERT_TRUE(none && plain);
  expect_sound(scenario, *plain);
  EXPECT_GT(plain->utilisation, none->utilisation + 0.2);
  EXPECT_GT(plain->interruptions, 0);
  EXPECT_GT(plain->lost_core_hours, 0);
  EXPECT_GT(plain->useful_core_hours, plain->lost_core_hours);
  EXPECT_EQ(plain->never_placed, 0u);
}

TEST(Comparison, ScavengerJobsFillTheClusterUnderEveryScheduler) {
  const Scenario scenario = small(1);
  for (const Variant setup :
       {Variant::kStock, Variant::kExtender, Variant::kOwn, Variant::kPacked}) {
    SCOPED_TRACE(title_of(setup));
    const auto outcome = live(scenario, setup);
    ASSERT_TRUE(outcome) << outcome.error().message;
    expect_sound(scenario, *outcome);
    EXPECT_GT(outcome->held_core_hours, 30);
    EXPECT_GT(outcome->useful_core_hours, 0.8 * outcome->held_core_hours);
    EXPECT_EQ(outcome->never_placed, 0u);
  }
}

TEST(Comparison, IsDecidedByTheScenario) {
  const auto one = live(small(2), Variant::kPlain), same = live(small(2), Variant::kPlain);
  ASSERT_TRUE(one && same);
  EXPECT_EQ(one->lost_core_hours, same->lost_core_hours);
  EXPECT_EQ(one->utilisation_over_time, same->utilisation_over_time);
  EXPECT_EQ(one->wait_p99, same->wait_p99);
}

}  // namespace
}  // namespace berth::simulate
