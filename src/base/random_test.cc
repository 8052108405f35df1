// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::Each;
using testing::Gt;
using testing::Lt;

std::vector<std::uint64_t> first_draws(Random random, int count = 8) {
  std::vector<std::uint64_t> draws;
  for (int i = 0; i < count; ++i) draws.push_back(random.next());
  return draws;
}

// A recorded run of any seed must replay on every machine and in every later version.
TEST(Random, GivesTheSameNumbersEverywhere) {
  EXPECT_EQ(first_draws(Random(0), 3),
            (std::vector<std::uint64_t>{11091344671253066420u, 13793997310169335082u,
                                        1900383378846508768u}));
}

TEST(Random, AForkDependsOnSeedAndNameAlone) {
  Random parent(7);
  const auto before = first_draws(parent.fork("binds"));
  for (int i = 0; i < 100; ++i) parent.next();
  EXPECT_EQ(first_draws(parent.fork("binds")), before);
  EXPECT_NE(first_draws(parent.fork("events")), before);
  EXPECT_NE(first_draws(Random(8).fork("binds")), before);
  EXPECT_NE(first_draws(parent), before);
}

TEST(Random, NestedForksDependOnTheOrderOfTheirNames) {
  const Random root(7);
  EXPECT_NE(first_draws(root.fork("a").fork("b")), first_draws(root.fork("b").fork("a")));
  EXPECT_NE(first_draws(root.fork("a").fork("b")), first_draws(root.fork("ab")));
}

TEST(Random, BelowReachesEveryValueEvenlyAndNoOther) {
  for (const std::uint64_t bound : {1u, 2u, 3u, 10u}) {
    Random random(bound);
    std::vector<int> seen(bound, 0);
    for (int i = 0; i < 10000; ++i) ++seen.at(random.below(bound));
    const double expected = 10000.0 / static_cast<double>(bound);
    EXPECT_THAT(seen, Each(Gt(expected * 0.85))) << bound;
    EXPECT_THAT(seen, Each(Lt(expected * 1.15))) << bound;
  }
}

TEST(Random, BelowIsUnbiasedWhenTheBoundIsHuge) {
  // Taking a remainder would put two thirds of the draws below a third of the range.
  const std::uint64_t bound = 3ull << 62;
  Random random(1);
  int low = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t drawn = random.below(bound);
    ASSERT_LT(drawn, bound);
    if (drawn < bound / 3) ++low;
  }
  EXPECT_NEAR(low, 1000, 120);
}

TEST(Random, UnitStaysBelowOneAndChanceFollowsIt) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double drawn = random.unit();
    ASSERT_GE(drawn, 0.0);
    ASSERT_LT(drawn, 1.0);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  EXPECT_FALSE(random.chance(0.0));
  EXPECT_TRUE(random.chance(1.0));
}

TEST(Random, EntropyDiffersFromCallToCall) {
  EXPECT_NE(Random::from_entropy().seed(), Random::from_entropy().seed());
}

}  // namespace
}  // namespace berth
