// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/indexes.h"

#include <gmock/gmock.h>

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Indexes, AreReadAndWrittenInShort) {
  struct Row {
    const char* text;
    std::int64_t completions;
    const char* again;
    std::int64_t total;
  };
  for (const Row& row : {
           Row{"", 10, "", 0},
           {"3", 10, "3", 1},
           {"3,4", 10, "3,4", 2},
           {"0-2,4", 10, "0-2,4", 4},
           {"0,1,2,3", 10, "0-3", 4},
           {"0-9", 5, "0-4", 5},
           {"1,7-9", 5, "1", 1},
           {"1,x,3", 10, "1,3", 2},
           {"1,2-y,4", 10, "1,4", 2},
       }) {
    SCOPED_TRACE(row.text);
    const Indexes read = Indexes::parse(row.text, row.completions);
    EXPECT_EQ(read.text(), row.again);
    EXPECT_EQ(read.total(), row.total);
    EXPECT_EQ(read.empty(), row.total == 0);
  }
}

TEST(Indexes, ArePutTogether) {
  const auto both = [](const char* a, const char* b) {
    return Indexes::parse(a, 100).with(Indexes::parse(b, 100)).text();
  };
  EXPECT_EQ(both("0-2,8", "3,5"), "0-3,5,8");
  EXPECT_EQ(both("", "3,5"), "3,5");
  EXPECT_EQ(both("1-9", "2-4"), "1-9");
  EXPECT_EQ(both("0,2,4", "1,3,5"), "0-5");
  EXPECT_EQ(Indexes({7, 1, 2, 3}).text(), "1-3,7");
}

TEST(Indexes, KnowWhatTheyHoldAndWhatTheyMiss) {
  const Indexes some = Indexes::parse("1-3,6", 100);
  for (const std::int64_t index : {1, 2, 3, 6}) EXPECT_TRUE(some.has(index));
  for (const std::int64_t index : {0, 4, 5, 7}) EXPECT_FALSE(some.has(index));
  EXPECT_THAT(some.missing(3, 100), ElementsAre(0, 4, 5));
  EXPECT_THAT(some.missing(9, 8), ElementsAre(0, 4, 5, 7));
  EXPECT_THAT(some.missing(0, 8), IsEmpty());
  EXPECT_THAT(Indexes::parse("0-9", 10).missing(2, 10), IsEmpty());
  EXPECT_EQ(some.common_with(Indexes::parse("0-2,5-9", 100)), 3);
  EXPECT_EQ(some.common_with(Indexes()), 0);
}

}  // namespace
}  // namespace berth::controllers
