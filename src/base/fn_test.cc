// SPDX-License-Identifier: Apache-2.0
#include "base/fn.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Fn, KeepsMoveOnlyCaptures) {
  Fn<int(int)> add = [by = std::make_unique<int>(40)](int to) { return to + *by; };
  Fn<int(int)> moved = std::move(add);
  EXPECT_EQ(moved(2), 42);
  EXPECT_FALSE(add);
}

TEST(Fn, DestroysACaptureOnceWhetherItFitsOrNot) {
  const auto count = std::make_shared<int>(0);
  {
    Fn<void()> small = [count] { ++*count; };
    Fn<void()> large = [count, ballast = std::array<char, 200>{}] { *count += 1 + ballast[7]; };
    EXPECT_EQ(count.use_count(), 3);
    Fn<void()> small_moved = std::move(small);
    large = std::move(large = std::move(small_moved));
    EXPECT_EQ(count.use_count(), 2);
    large();
  }
  EXPECT_EQ(count.use_count(), 1);
  EXPECT_EQ(*count, 1);
}

TEST(Fn, ATaskMayReturnAValueNobodyAsksFor) {
  int calls = 0;
  Task task = [&calls] { return ++calls; };
  task();
  EXPECT_EQ(calls, 1);
}

TEST(Fn, PassesReferencesAndMoveOnlyArgumentsThrough) {
  int seen = 0;
  Fn<void(int&, std::unique_ptr<int>)> f = [](int& out, std::unique_ptr<int> in) { out = *in; };
  f(seen, std::make_unique<int>(7));
  EXPECT_EQ(seen, 7);
}

TEST(FnDeathTest, AnEmptyOneSaysSo) {
  Task empty = nullptr;
  EXPECT_FALSE(empty);
  EXPECT_DEATH(empty(), "an empty Fn was called");
}

}  // namespace
}  // namespace berth
