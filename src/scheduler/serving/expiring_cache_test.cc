// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/expiring_cache.h"

#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

TEST(ExpiringCache, ForgetsWithTimeAndWhenFull) {
  ExpiringCache<int> cache(2);
  const Instant start{1s};
  cache.put("a", 1, start, 10s);
  ASSERT_NE(cache.find("a", start + 9s), nullptr);
  EXPECT_EQ(cache.find("a", start + 10s), nullptr);
  cache.put("a", 2, start + 1s, 10s);  // later than the first time
  cache.put("b", 3, start + 2s, 10s);
  cache.put("c", 4, start + 3s, 10s);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find("a", start + 3s), nullptr);
  EXPECT_EQ(*cache.find("b", start + 3s), 3);
  cache.put("d", 5, start + 30s, 10s);
  EXPECT_EQ(cache.size(), 1u);
  cache.put("e", 6, start + 30s, 0s);
  EXPECT_EQ(cache.find("e", start + 30s), nullptr);
}

TEST(ExpiringCache, StaysSmallWhenOneKeyIsPutAgainAndAgain) {
  ExpiringCache<int> cache(4);
  for (int i = 0; i < 1000; ++i) cache.put("same", i, Instant{Duration(i)}, 10s);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(*cache.find("same", Instant{1s}), 999);
}

}  // namespace
}  // namespace berth::scheduler
