// SPDX-License-Identifier: Apache-2.0
#include "json/value.h"

#include <gtest/gtest.h>

namespace berth::json {
namespace {

std::string again(std::string_view text) {
  Arena arena;
  const Result<Value> value = parse(text, arena);
  return value ? print(*value) : "error: " + value.error().message;
}

TEST(Value, KeepsOrderAndPrintsAsGoDoes) {
  EXPECT_EQ(again(R"( { "z" : [1, -2, 1.5, 1e3 , true,null], "a":{"\u0062":"\u00e9<\n"} } )"),
            R"({"z":[1,-2,1.5,1000,true,null],"a":{"b":"é<\n"}})");
  EXPECT_EQ(again("[]"), "[]");
  EXPECT_EQ(again("{}"), "{}");
}

TEST(Value, TypesNumbersAsKubernetesDoes) {
  EXPECT_EQ(again("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(again("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(again("9223372036854775808"), "9223372036854776000");  // a float, printed shortest
  EXPECT_EQ(again("18446744073709551615"), "18446744073709552000");
  EXPECT_EQ(again("1.0"), "1");
  EXPECT_EQ(again("-0"), "0");
  EXPECT_EQ(again("-0.0"), "-0");
  EXPECT_EQ(again("1e400"), "error: a number is too large for a 64-bit float");
}

TEST(Value, LetsTheLastOfTwoMembersWin) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(Value, RefusesBadTextAndDeepText) {
  EXPECT_EQ(again("{\"a\":}"), "error: line 1, column 6: expected a value");
  EXPECT_EQ(again(std::string(101, '[') + std::string(101, ']')),
            "error: line 1, column 101: nested too deeply");
}

TEST(Value, ComparesDeeply) {
  Arena arena;
  const auto same = [&](std::string_view a, std::string_view b) {
    return equal(parse_good(a, arena), parse_good(b, arena));
  };
  EXPECT_TRUE(same(R"({"a":[1,{"b":null}],"c":"x"})", R"({"c":"x","a":[1,{"b":null}]})"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("[1]", "[1,2]"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(same("1", "1.0"));
  EXPECT_FALSE(same("null", "false"));
}

TEST(Value, ErasesAndKeepsTheOrderOfTheRest) {
  Arena arena;
  Value value = parse_good(R"({"a":1,"b":2,"c":3,"d":4})", arena);
  erase(value.get_object(), "b");
  erase(value.get_object(), "missing");
  EXPECT_EQ(print(value), R"({"a":1,"c":3,"d":4})");
}

TEST(Value, ErasesFromLargeObjectsWithoutWalkingThemEachTime) {
  constexpr int kMembers = 200'000;  // a walk each would take minutes
  Arena arena;
  Value value(boost::json::object_kind, arena.storage());
  Dict& dict = value.get_object();
  for (int i = 0; i < kMembers; ++i)
    dict.emplace("m" + std::to_string(i), i % 2 ? Value(i) : Value());
  drop_nulls(value);
  EXPECT_EQ(dict.size(), kMembers / 2u);
  for (int i = 0; i < kMembers - 3; ++i) erase(dict, "m" + std::to_string(i));
  EXPECT_EQ(dict.size(), 2u);
  EXPECT_TRUE(dict.contains("m199997") && dict.contains("m199999"));
}

TEST(Value, CountsLevels) {
  Arena arena;
  EXPECT_EQ(depth_of(parse_good("1", arena)), 0U);
  EXPECT_EQ(depth_of(parse_good("{}", arena)), 1U);
  EXPECT_EQ(depth_of(parse_good(R"({"a":[[],1],"b":{}})", arena)), 3U);
}

TEST(Arena, ServesAnyNumberOfRequests) {
  Arena arena;
  const std::string large = '"' + std::string(10'000, 'x') + '"';
  for (int request = 0; request < 200; ++request) {
    arena.reset();
    EXPECT_EQ(parse_good(large, arena).as_string().size(), 10'000u);
  }
}

}  // namespace
}  // namespace berth::json
