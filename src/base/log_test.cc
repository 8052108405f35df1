// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace berth {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class FixedClock final : public Clock {
 public:
  Instant now() const override { return {}; }
  WallTime wall() const override { return time; }
  WallTime time{1'767'225'601'000'002'999};
};

class LogTest : public testing::Test {
 protected:
  // The line without its time.
  std::string line(const std::string& whole) const { return whole.substr(28); }

  FixedClock clock;
  StringSink sink;
  Logger text{sink, clock, LogLevel::kDebug, LogFormat::kText};
  Logger json{sink, clock, LogLevel::kDebug, LogFormat::kJson};
};

TEST_F(LogTest, TextIsTimeLevelMessageAndFields) {
  text.info("watch ended", {{"kind", "Pod"}, {"revision", 12}, {"clean", true}});
  EXPECT_EQ(sink.text(),
            "2026-01-01T00:00:01.000002Z info  watch ended kind=Pod revision=12 clean=true\n");
}

TEST_F(LogTest, JsonIsOneObjectALine) {
  json.warn("watch ended", {{"kind", "Pod"}, {"revision", 12u}, {"share", 0.5}});
  EXPECT_EQ(sink.text(),
            R"({"time":"2026-01-01T00:00:01.000002Z","level":"warn","message":"watch ended",)"
            R"("kind":"Pod","revision":12,"share":0.5})"
            "\n");
}

TEST_F(LogTest, TimesBefore1970AndAtTheEndOfAYearReadRight) {
  clock.time = WallTime{-1};
  text.info("a");
  clock.time = WallTime{1'709'251'199'999'999'999};  // a leap day
  text.info("b");
  EXPECT_EQ(sink.text(),
            "1969-12-31T23:59:59.999999Z info  a\n2024-02-29T23:59:59.999999Z info  b\n");
}

TEST_F(LogTest, MessagesBelowTheLevelAreNotWritten) {
  const Logger quiet(sink, clock, LogLevel::kWarn);
  quiet.debug("a");
  quiet.info("b");
  EXPECT_EQ(sink.text(), "");
  quiet.warn("c");
  quiet.error("d");
  EXPECT_THAT(sink.text(), EndsWith("error d\n"));
  EXPECT_FALSE(Logger(sink, clock, LogLevel::kOff).enabled(LogLevel::kError));
}

TEST_F(LogTest, AChildAddsItsFieldsBeforeThoseOfTheCall) {
  const Logger child = text.with({{"process", "p"}}).with({{"kind", "Pod"}});
  child.info("synced", {{"count", 3}});
  EXPECT_EQ(line(sink.text()), "info  synced process=p kind=Pod count=3\n");
}

TEST_F(LogTest, ValuesReadAsWhatTheyAre) {
  const Error error{.reason = Reason::kNotFound, .message = "pods \"a\" not found"};
  text.info("m", {{"took", 1500ms},
                  {"at", WallTime{0}},
                  {"error", error},
                  {"none", ""},
                  {"least", INT64_MIN},
                  {"most", UINT64_MAX},
                  {"odd", std::string("a b=c")}});
  EXPECT_EQ(line(sink.text()),
            "info  m took=1.5s at=1970-01-01T00:00:00.000000Z "
            "error=\"NotFound: pods \\\"a\\\" not found\" none=\"\" least=-9223372036854775808 "
            "most=18446744073709551615 odd=\"a b=c\"\n");
}

TEST_F(LogTest, NothingBreaksOutOfItsLine) {
  struct Row {
    const char* name;
    std::string value;
    const char* shown;
  };
  const Row rows[] = {
      {"line feed", "a\nERROR fake", R"("a\nERROR fake")"},
      {"escape sequence", "\x1b[2J", R"("\u001b[2J")"},
      {"nul", std::string("a\0b", 3), R"("a\u0000b")"},
      {"delete", "\x7f", R"("\u007f")"},
      {"C1 control", "\xc2\x9b", R"("\u009b")"},
      {"line separator", "\xe2\x80\xa8", R"("\u2028")"},
      {"right-to-left override", "\xe2\x80\xae", R"("\u202e")"},
      {"broken UTF-8", "\xff", R"("\ufffd")"},
      {"overlong UTF-8", "\xc0\xaf", R"("\ufffd\ufffd")"},
      {"surrogate", "\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},
      {"cut sequence", "\xe2\x82", R"("\ufffd\ufffd")"},
      {"plain UTF-8", "größe €", R"("größe €")"},
      {"quotes", R"("\)", R"("\"\\")"},
  };
  for (const Row& row : rows) {
    for (const Logger* log : {&text, &json}) {
      StringSink own;
      Logger(own, clock, LogLevel::kInfo, log == &text ? LogFormat::kText : LogFormat::kJson)
          .info("m", {{"k", row.value}});
      const std::string end = std::string(row.shown) + (log == &text ? "\n" : "}\n");
      EXPECT_THAT(own.text(), EndsWith(end)) << row.name;
    }
  }
  text.info("a\nb", {{"k\ny", 1}});
  EXPECT_EQ(line(sink.text()), "info  a\\nb k\\ny=1\n");
}

TEST_F(LogTest, NumbersThatJsonCannotWriteBecomeStrings) {
  json.info("m", {{"a", std::numeric_limits<double>::quiet_NaN()},
                  {"b", -std::numeric_limits<double>::infinity()}});
  EXPECT_THAT(sink.text(), HasSubstr(R"("a":"nan","b":"-inf"})"));
}

TEST_F(LogTest, ALineIsAtMostFourKibibytesAndStaysWhole) {
  const std::string nasty(5000, '\x01');
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    StringSink own;
    const Logger log = Logger(own, clock, LogLevel::kInfo, format)
                           .with({{"context", nasty}, {"more", nasty}, {"small", 1}});
    log.info(nasty, {{"first", nasty}, {"second", nasty}, {"third", nasty}, {"fourth", 4}});
    EXPECT_LE(own.text().size(), 4096u);
    for (const char* there : {"context", "small", "first", "fourth"})
      EXPECT_THAT(own.text(), HasSubstr(there));
    for (const char* too_long : {"more", "second", "third"})
      EXPECT_THAT(own.text(), Not(HasSubstr(too_long)));
    EXPECT_THAT(own.text(), EndsWith(format == LogFormat::kText ? "=4 truncated=true\n"
                                                                : ":4,\"truncated\":true}\n"));
  }
}

TEST_F(LogTest, ALongValueIsCutAtACharacter) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "€";
  text.info("m", {{"k", euros}});
  EXPECT_EQ(line(sink.text()), "info  m k=\"" + euros.substr(0, 1023) + "…\"\n");
}

TEST_F(LogTest, LinesOfSeveralThreadsDoNotMix) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) text.info("message", {{"value", 1}});
    });
  for (std::thread& thread : threads) thread.join();
  const std::string all = sink.text();
  const std::string one = all.substr(0, all.find('\n') + 1);
  EXPECT_EQ(all.size(), 1000 * one.size());
  for (std::size_t at = 0; at < all.size(); at += one.size())
    ASSERT_EQ(all.compare(at, one.size(), one), 0) << at;
}

TEST(LogLevels, ReadBackFromTheirNames) {
  EXPECT_EQ(log_level_named("debug"), LogLevel::kDebug);
  EXPECT_EQ(log_level_named("error"), LogLevel::kError);
  EXPECT_EQ(log_level_named("verbose"), std::nullopt);
}

}  // namespace
}  // namespace berth
