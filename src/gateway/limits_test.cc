// SPDX-License-Identifier: Apache-2.0
#include "gateway/limits.h"

#include <gtest/gtest.h>

namespace berth::gateway {
namespace {

constexpr Instant at(Duration since) { return {since}; }

int allowed(RequestLimits& limits, const std::string& address, int requests, Instant now) {
  int passed = 0;
  for (int i = 0; i < requests; ++i) passed += limits.take(address, now) ? 0 : 1;
  return passed;
}

TEST(RequestLimits, AnAddressHasABurstAndThenItsRate) {
  RequestLimits limits{Limits{}};
  EXPECT_EQ(allowed(limits, "a", 100, at(1s)), 40);
  EXPECT_EQ(allowed(limits, "a", 100, at(2s)), 20);
  EXPECT_EQ(allowed(limits, "b", 10, at(2s)), 10);
}

TEST(RequestLimits, TheAnswerSaysHowLongToWait) {
  RequestLimits limits{Limits{}};
  allowed(limits, "a", 40, at(1s));
  const auto wait = limits.take("a", at(1s));
  ASSERT_TRUE(wait);
  EXPECT_EQ(*wait, 50ms);
  EXPECT_FALSE(limits.take("a", at(1s) + *wait));
}

TEST(RequestLimits, AllTogetherHaveALimitThatOneCannotUseUp) {
  RequestLimits limits{Limits{}};
  EXPECT_EQ(allowed(limits, "noisy", 5000, at(1s)), 40);
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += allowed(limits, std::to_string(i), 1, at(1s));
  EXPECT_EQ(passed, 400 - 40);
}

TEST(RequestLimits, WhoeverIsQuietIsForgottenWhenRoomIsNeeded) {
  RequestLimits limits{Limits{.requests_in_all = 1e6}};
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(limits.take(std::to_string(i), at(1s)));
  EXPECT_TRUE(limits.take("one more", at(1s)));
  EXPECT_FALSE(limits.take("one more", at(10s)));
  EXPECT_EQ(limits.known(), 1U);
}

}  // namespace
}  // namespace berth::gateway
