// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Instant, LaterByNoLimitIsNever) {
  const Instant never{kNoLimit};
  EXPECT_EQ(Instant{} + kNoLimit, never);
  EXPECT_EQ(Instant{5s} + kNoLimit, never);
  EXPECT_EQ(never + 1ns, never);
  EXPECT_EQ(never + kNoLimit, never);
  EXPECT_EQ(Instant{-5s} + 2s, Instant{-3s});
}

TEST(WallTime, DifferencesAreDurations) {
  const WallTime at{1'700'000'000'000'000'000};
  EXPECT_EQ((at + 1500ms) - at, 1500ms);
  EXPECT_LT(at - 1ns, at);
}

}  // namespace
}  // namespace berth
