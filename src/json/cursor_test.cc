// SPDX-License-Identifier: Apache-2.0
#include "json/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::json {
namespace {

std::string problem(std::string_view bytes, const Limits& limits = {}) {
  const auto checked = check(bytes, limits);
  return checked ? "" : checked.error().message;
}

TEST(Cursor, WalksADocumentInOnePass) {
  Cursor c(R"( {"name" : "web\u00e9", "replicas": 3,"paused":true, "x":[1, [], {}],"y":null } )");
  std::string scratch;
  std::vector<std::string> seen;
  ASSERT_EQ(c.peek(), Type::kObject);
  ASSERT_TRUE(c.enter_object());
  for (std::string_view key; c.next_key(key);) {
    seen.emplace_back(key);
    if (key_is(key, "name")) {
      seen.emplace_back(c.string(scratch));
    } else if (key_is(key, "replicas")) {
      seen.emplace_back(c.number());
    } else if (key_is(key, "paused")) {
      seen.emplace_back(c.boolean() ? "yes" : "no");
    } else if (key_is(key, "x")) {
      ASSERT_TRUE(c.enter_array());
      while (c.next_element()) seen.emplace_back(c.skip());
    } else {
      EXPECT_TRUE(c.null());
    }
  }
  EXPECT_TRUE(c.finish()) << c.error().message;
  EXPECT_THAT(seen, testing::ElementsAre("name", "webé", "replicas", "3", "paused", "yes", "x", "1",
                                         "[]", "{}", "y"));
}

TEST(Cursor, AcceptsWhatTheGrammarAllows) {
  for (const char* good :
       {"0", "-0", "1.5", "-12e+3", "1E-2", "\"\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u12aF\"", "[]",
        "{}", "\t[1 , 2]\r\n", "{\"a\":{\"b\":[null,true,false]}}", "\"é€😀\"", "\"\\ud800\"",
        "\"0123456789abcdef0123456789é\""})
    EXPECT_EQ(problem(good), "") << good;
}

TEST(Cursor, RefusesEverythingElseAndSaysWhere) {
  const std::pair<std::string_view, const char*> rows[] = {
      {"", "line 1, column 1: expected a value, found the end"},
      {" \n ", "line 2, column 2: expected a value, found the end"},
      {"nul", "line 1, column 1: expected null"},
      {"truE", "line 1, column 1: expected true"},
      {"fals", "line 1, column 1: expected false"},
      {"01", "line 1, column 2: nothing may follow the document"},
      {"-", "line 1, column 1: expected a number"},
      {"+1", "line 1, column 1: expected a value"},
      {".5", "line 1, column 1: expected a value"},
      {"1.", "line 1, column 3: expected a digit after '.'"},
      {"1.e2", "line 1, column 3: expected a digit after '.'"},
      {"1e", "line 1, column 3: expected a digit in the exponent"},
      {"1e+", "line 1, column 4: expected a digit in the exponent"},
      {"NaN", "line 1, column 1: expected a value"},
      {"'a'", "line 1, column 1: expected a value"},
      {"\"a", "line 1, column 1: the string has no end"},
      {"\"a\\", "line 1, column 4: the string has no end"},
      {"\"a\\x\"", "line 1, column 3: unknown escape in a string"},
      {std::string_view("\"\\\0\"", 4), "line 1, column 2: unknown escape in a string"},
      {"\"\\u12g4\"", "line 1, column 2: \\u is not followed by four hexadecimal digits"},
      {"\"a\nb\"", "line 1, column 3: a control character in a string must be escaped"},
      {"[1,\n \"\xff\"]", "line 2, column 3: a string is not valid UTF-8"},
      {"\"\xc0\xaf\"", "line 1, column 2: a string is not valid UTF-8"},
      {"\"\xe0\x80\xaf\"", "line 1, column 2: a string is not valid UTF-8"},
      {"\"\xed\xa0\x80\"", "line 1, column 2: a string is not valid UTF-8"},
      {"\"\xf4\x90\x80\x80\"", "line 1, column 2: a string is not valid UTF-8"},
      {"\"\xf0\x8f\xbf\xbf\"", "line 1, column 2: a string is not valid UTF-8"},
      {"\"\xe2\x82", "line 1, column 2: a string is not valid UTF-8"},
      {"[1,]", "line 1, column 4: expected a value"},
      {"[1 2]", "line 1, column 4: expected ',' or ']'"},
      {"[1", "line 1, column 3: expected ',' or ']'"},
      {"[1}", "line 1, column 3: expected ',' or ']'"},
      {"[,1]", "line 1, column 2: expected a value"},
      {"{\"a\":1,}", "line 1, column 8: expected a key in quotes"},
      {"{\"a\" 1}", "line 1, column 6: expected ':'"},
      {"{\"a\":}", "line 1, column 6: expected a value"},
      {"{a:1}", "line 1, column 2: expected a key in quotes"},
      {"{\"é\":1,\n\"b\":2 \"c\"}", "line 2, column 7: expected ',' or '}'"},
      {"{} {}", "line 1, column 4: nothing may follow the document"},
      {"\xef\xbb\xbf{}", "line 1, column 1: expected a value"},
  };
  for (const auto& [bytes, message] : rows) EXPECT_EQ(problem(bytes), message) << bytes;
}

TEST(Cursor, BoundsDepthAndSize) {
  EXPECT_EQ(problem("[[[]]]", {.max_depth = 3}), "");
  EXPECT_EQ(problem("[[[{}]]]", {.max_depth = 3}), "line 1, column 4: nested too deeply");
  EXPECT_EQ(problem("[1,2]", {.max_bytes = 4}), "the document is too large: 5 bytes");
  EXPECT_EQ(check("[1,2]", {.max_bytes = 4}).error().reason, Reason::kRequestEntityTooLarge);
  Cursor c("[[]]", {.max_depth = 1});
  EXPECT_TRUE(c.enter_array());
  EXPECT_TRUE(c.next_element());
  EXPECT_FALSE(c.enter_array());
  EXPECT_EQ(c.error().message, "line 1, column 2: nested too deeply");
}

TEST(Cursor, AnswersFalseAfterAnErrorAndKeepsTheFirst) {
  Cursor c("[1 x]");
  ASSERT_TRUE(c.enter_array());
  ASSERT_TRUE(c.next_element());
  EXPECT_EQ(c.number(), "1");
  EXPECT_FALSE(c.next_element());
  std::string scratch;
  std::string_view key;
  EXPECT_FALSE(c.ok());
  EXPECT_FALSE(c.next_element());
  EXPECT_FALSE(c.enter_object());
  EXPECT_FALSE(c.next_key(key));
  EXPECT_FALSE(c.boolean());
  EXPECT_FALSE(c.null());
  EXPECT_EQ(c.string(scratch), "");
  EXPECT_EQ(c.raw_string(), "");
  EXPECT_EQ(c.skip(), "");
  EXPECT_EQ(c.peek(), Type::kNull);
  EXPECT_FALSE(c.finish());
  EXPECT_EQ(c.error().message, "line 1, column 4: expected ',' or ']'");
}

TEST(Cursor, FindsTheOddByteAtEveryPlaceOfABlock) {
  for (std::size_t length = 0; length < 40; ++length)
    for (std::size_t place = 0; place < length; ++place) {
      std::string text = "\"" + std::string(length, 'a') + "\"";
      text[place + 1] = '\x01';
      EXPECT_THAT(problem(text), testing::HasSubstr("column " + std::to_string(place + 2)));
    }
}

TEST(Unescape, ReadsAsGoDoes) {
  EXPECT_EQ(unescape(R"(a\"\\\/\b\f\n\r\t\u0041z)"), "a\"\\/\b\f\n\r\tAz");
  EXPECT_EQ(unescape(R"(\ud83d\ude00)"), "😀");
  EXPECT_EQ(unescape(R"(\ud83dx)"), "\xEF\xBF\xBDx");
  EXPECT_EQ(unescape(R"(\ude00\ud83d)"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(unescape(R"(\ud83d\ud83d\ude00)"), "\xEF\xBF\xBD😀");
  EXPECT_EQ(unescape(R"(\u0000)"), std::string(1, '\0'));
}

TEST(KeyIs, SeesThroughEscapes) {
  EXPECT_TRUE(key_is("name", "name"));
  EXPECT_TRUE(key_is("n\\u0061me", "name"));
  EXPECT_FALSE(key_is("names", "name"));
  EXPECT_FALSE(key_is("a\\n", "a\\n"));
}

}  // namespace
}  // namespace berth::json
