// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr std::string_view kNames[] = {"NodeAffinity", "NodePorts", "NodeName"};

TEST(Nearest, FindsATypo) { EXPECT_EQ(nearest("NodeAfinity", kNames), "NodeAffinity"); }
TEST(Nearest, SaysNothingWhenNothingIsClose) { EXPECT_EQ(nearest("Scavenger", kNames), ""); }
TEST(Nearest, TheFirstOfEquallyCloseWins) {
  constexpr std::string_view names[] = {"cat", "car"};
  EXPECT_EQ(nearest("cab", names), "cat");
}

}  // namespace
}  // namespace berth
