// SPDX-License-Identifier: Apache-2.0
#include "json/slice.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::json {
namespace {

TEST(Slice, FollowsPathsAndIsAbsentWhereThereIsNothing) {
  const Slice pod(R"( {"metadata":{"name":"web","labels":{"a":"1","b]}":"{[\""}},
                       "spec":{"nodeName":"n\u0031","containers":[{"name":"c0"},{"name":"c1"}]}} )");
  EXPECT_EQ(pod["metadata"]["name"].text(), "web");
  EXPECT_EQ(pod["spec"]["nodeName"].text(), "n1");
  EXPECT_TRUE(pod["spec"]["nodeName"].equals("n1"));
  EXPECT_EQ(pod["spec"]["containers"][1]["name"].text(), "c1");
  EXPECT_FALSE(pod["spec"]["containers"][2]["name"].present());
  EXPECT_FALSE(pod["status"]["phase"]["x"][3]);
  EXPECT_EQ(pod["metadata"]["labels"]["b]}"].text(), "{[\"");
  EXPECT_EQ(pod["spec"]["containers"].size(), 2U);
  EXPECT_EQ(pod["metadata"].size(), 2U);
  EXPECT_EQ(pod["metadata"]["name"].size(), 0U);
  EXPECT_EQ(pod["spec"]["containers"][0].raw(), R"({"name":"c0"})");
}

TEST(Slice, IteratesInDocumentOrder) {
  const Slice object(R"({ "z" : 1 , "\u0061" : [ ] , "z" : "end" })");
  std::vector<std::string> seen;
  for (auto [key, value] : object.members())
    seen.push_back(std::string(key) + "=" + std::string(value.raw()));
  EXPECT_THAT(seen, testing::ElementsAre("z=1", "a=[ ]", "z=\"end\""));
  EXPECT_EQ(object["z"].text(), "end");  // the last one wins

  std::vector<std::string> items;
  for (Slice item : Slice("[1,\n {\"a\":[2]} , \"x,]\"]").elements())
    items.emplace_back(item.raw());
  EXPECT_THAT(items, testing::ElementsAre("1", "{\"a\":[2]}", "\"x,]\""));
  for ([[maybe_unused]] Slice item : Slice("[ ]").elements()) FAIL();
  for ([[maybe_unused]] auto member : Slice("[1]").members()) FAIL();
}

TEST(Slice, FindsTheEndOfAValueWhereverItLies) {
  // Brackets, quotes and backslashes in strings, moved over the borders of the blocks that are read
  // at once.
  for (std::size_t shift = 0; shift < 140; ++shift) {
    const std::string pad(shift, 'x');
    const std::string inner = R"({"a]":["}\\",{"\"":"[{\\\""}],"b":[[]]})";
    const std::string text = "[\"" + pad + "\"," + inner + ",\"" + pad + "{\\\\\"," + inner + "]";
    ASSERT_TRUE(check(text)) << text;
    const Slice list(text);
    ASSERT_EQ(list.size(), 4U) << text;
    EXPECT_EQ(list[1].raw(), inner) << text;
    EXPECT_EQ(list[3].raw(), inner) << text;
    EXPECT_EQ(list[1]["b"].raw(), "[[]]") << text;
  }
}

TEST(Slice, KnowsItsType) {
  EXPECT_TRUE(Slice("null").is_null());
  EXPECT_FALSE(Slice().is_null());
  EXPECT_TRUE(Slice(" -1").is_number());
  EXPECT_TRUE(Slice("true").is_bool());
  EXPECT_TRUE(Slice("true").boolean());
  EXPECT_FALSE(Slice("false").boolean(true));
  EXPECT_TRUE(Slice("1").boolean(true));
  EXPECT_TRUE(Slice("[]").is_array());
  EXPECT_TRUE(Slice("{}").is_object());
  EXPECT_TRUE(Slice("\"\"").is_string());
  EXPECT_EQ(Slice("5").text(), "");
}

TEST(Slice, ReadsWholeNumbersExactly) {
  using Limit = std::numeric_limits<std::int64_t>;
  const std::pair<const char*, std::optional<std::int64_t>> rows[] = {
      {"0", 0},
      {"-0", 0},
      {"9223372036854775807", Limit::max()},
      {"-9223372036854775808", Limit::min()},
      {"9223372036854775808", std::nullopt},
      {"1.0", 1},
      {"1e3", 1000},
      {"1.5", std::nullopt},
      {"1.50e1", 15},
      {"-12.5E+1", -125},
      {"9.223372036854775807e18", Limit::max()},
      {"9.223372036854775808e18", std::nullopt},
      {"0e99999999999", 0},
      {"1e99999999999", std::nullopt},
      {"1e-99999999999", std::nullopt},
      {"100e-2", 1},
      {"\"1\"", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [text, value] : rows) EXPECT_EQ(Slice(text).integer(), value) << text;
}

TEST(Slice, ReadsDoubles) {
  EXPECT_EQ(Slice("1.5").number(), 1.5);
  EXPECT_EQ(Slice("1e400").number(), std::nullopt);
  EXPECT_EQ(Slice("1e-400").number(), 0.0);
  EXPECT_EQ(Slice("4e-324").number(), 5e-324);
  EXPECT_EQ(Slice("true").number(), std::nullopt);
}

}  // namespace
}  // namespace berth::json
