// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/sorted_keys.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "apiserver/http/headers.h"

namespace berth::apiserver {
namespace {

TEST(SortedKeys, MembersAreSortedAtEveryDepth) {
  EXPECT_EQ(with_sorted_keys(R"({"kind":"K","apiVersion":"v1","list":[{"b":1,"a":[]}],"":null})"),
            R"({"":null,"apiVersion":"v1","kind":"K","list":[{"a":[],"b":1}]})");
}

TEST(SortedKeys, NumbersInKeysCountAndLettersComeLast) {
  const std::vector<std::string> sorted = {"",   "-",  "1",   "a",    "a/b", "a1",
                                           "a2", "a9", "a10", "a10b", "ab",  "b"};
  std::vector<std::string> keys(sorted.rbegin(), sorted.rend());
  std::stable_sort(keys.begin(), keys.end(), yaml_key_before);
  EXPECT_EQ(keys, sorted);
}

TEST(Tags, OnlyTheSameContentHasTheSameTag) {
  const std::string tag = tag_of("something that is kept");
  EXPECT_EQ(tag.size(), 34u);
  EXPECT_EQ(tag, tag_of("something that is kept"));
  for (const char* other : {"", "something that is kepT", "something that is kept "})
    EXPECT_NE(tag, tag_of(other)) << other;
  EXPECT_TRUE(names_tag(tag, tag));
  EXPECT_TRUE(names_tag("\"other\", W/" + tag, tag));
  EXPECT_TRUE(names_tag("*", tag));
  EXPECT_FALSE(names_tag("", tag));
  EXPECT_FALSE(names_tag("\"other\"", tag));
}

}  // namespace
}  // namespace berth::apiserver
