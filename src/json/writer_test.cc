// SPDX-License-Identifier: Apache-2.0
#include "json/writer.h"

#include <limits>

#include <gtest/gtest.h>

namespace berth::json {
namespace {

TEST(Writer, PutsCommasAndQuotes) {
  Writer w;
  EXPECT_FALSE(w.complete());
  w.object().member("metadata").object().member("name").string("web").end();
  w.member("list")
      .array()
      .integer(-5)
      .number(0.5)
      .boolean(true)
      .null()
      .array()
      .end()
      .raw("{}")
      .end();
  EXPECT_FALSE(w.complete());
  w.end();
  EXPECT_TRUE(w.complete());
  EXPECT_EQ(w.text(), R"({"metadata":{"name":"web"},"list":[-5,0.5,true,null,[],{}]})");
  EXPECT_EQ(w.take(), R"({"metadata":{"name":"web"},"list":[-5,0.5,true,null,[],{}]})");
  EXPECT_EQ(w.integer(std::numeric_limits<std::int64_t>::min()).take(), "-9223372036854775808");
}

TEST(WriterDeathTest, StopsAtMisuse) {
  EXPECT_DEATH(Writer().object().string("x"), "starts with its key");
  EXPECT_DEATH(Writer().array().member("x"), "members belong");
  EXPECT_DEATH(Writer().end(), "nothing to close");
  EXPECT_DEATH(Writer().object().member("a").end(), "without its value");
  EXPECT_DEATH(Writer().null().null(), "one value");
  EXPECT_DEATH(Writer().array().take(), "not complete");
}

TEST(Writer, EscapesAsGoDoes) {
  const auto quoted = [](std::string_view text) {
    std::string out;
    append_quoted(out, text);
    return out;
  };
  EXPECT_EQ(quoted("a\"\\/<>&\b\f\n\r\t\x01\x1f\x7f"),
            "\"a\\\"\\\\/<>&\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  EXPECT_EQ(quoted("é😀\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"), "\"é😀\\u2028\\u2029\xE2\x80\xAA\"");
  EXPECT_EQ(quoted("\xff\xc3x\xed\xa0\x80"), "\"\\ufffd\\ufffdx\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(Writer, PrintsDoublesAsGoDoes) {
  const std::pair<double, const char*> rows[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1.0, "1"},
      {1.5, "1.5"},
      {-2.25, "-2.25"},
      {0.1, "0.1"},
      {1e-6, "0.000001"},
      {1.25e-6, "0.00000125"},
      {9.9e-7, "9.9e-7"},
      {1e-7, "1e-7"},
      {1e-10, "1e-10"},
      {1.5e-300, "1.5e-300"},
      {1e20, "100000000000000000000"},
      {1.2345678901234568e20, "123456789012345680000"},
      {1e21, "1e+21"},
      {1.5e21, "1.5e+21"},
      {123456789.125, "123456789.125"},
      {9007199254740993.0, "9007199254740992"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
  };
  for (const auto& [value, text] : rows) {
    std::string out;
    append_double(out, value);
    EXPECT_EQ(out, text);
  }
}

}  // namespace
}  // namespace berth::json
