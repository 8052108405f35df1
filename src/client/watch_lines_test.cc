// SPDX-License-Identifier: Apache-2.0
#include "client/watch_lines.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::client {
namespace {

using testing::ElementsAre;

TEST(WatchLines, AreTheSameWhereverTheBytesAreCut) {
  const std::string text = "one\n\ntwo two\nthree\n";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      WatchLines lines(100);
      std::vector<std::string> seen;
      const auto keep = [&](std::string_view line) {
        seen.emplace_back(line);
        return true;
      };
      EXPECT_TRUE(lines.feed(std::string_view(text).substr(0, first), keep));
      EXPECT_TRUE(lines.feed(std::string_view(text).substr(first, second - first), keep));
      EXPECT_TRUE(lines.feed(std::string_view(text).substr(second), keep));
      EXPECT_THAT(seen, ElementsAre("one", "two two", "three")) << first << " " << second;
      EXPECT_TRUE(lines.between_lines());
    }
  }
}

TEST(WatchLines, KnowWhenALineIsUnfinished) {
  WatchLines lines(100);
  EXPECT_TRUE(lines.feed("half", [](std::string_view) { return true; }));
  EXPECT_FALSE(lines.between_lines());
}

TEST(WatchLines, RefuseALineThatIsTooLong) {
  const auto ignore = [](std::string_view) { return true; };
  EXPECT_TRUE(WatchLines(3).feed("abc\nabc\n", ignore));
  EXPECT_FALSE(WatchLines(3).feed("abcd\n", ignore));
  EXPECT_FALSE(WatchLines(3).feed("abcd", ignore));
  WatchLines lines(3);
  EXPECT_TRUE(lines.feed("ab", ignore));
  EXPECT_FALSE(lines.feed("cd\n", ignore));
}

TEST(WatchLines, StopWhenTold) {
  int seen = 0;
  WatchLines lines(100);
  EXPECT_FALSE(lines.feed("a\nb\n", [&](std::string_view) { return ++seen > 9; }));
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace berth::client
