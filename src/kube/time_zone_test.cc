// SPDX-License-Identifier: Apache-2.0
#include "kube/time_zone.h"

#include <gtest/gtest.h>

#include "kube/time.h"

namespace berth::kube {
namespace {

std::string number(std::int64_t value, int width) {
  std::string out;
  for (int i = width - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 255);
  return out;
}

std::string header(char version, std::int64_t times, std::int64_t types) {
  return "TZif" + std::string(1, version) + std::string(15, '\0') + number(0, 4) + number(0, 4) +
         number(0, 4) + number(times, 4) + number(types, 4) + number(4, 4);
}

std::string type(std::int64_t ahead, bool summer) {
  return number(ahead, 4) + static_cast<char>(summer) + '\0';
}

// One hour ahead, two from 1000 on, and what the footer says from 2000 on.
std::string file(std::string_view footer, std::string_view kinds = {"\1\0", 2}) {
  return header('2', 0, 1) + type(0, false) + "UTC" + '\0' + header('2', 2, 2) + number(1000, 8) +
         number(2000, 8) + std::string(kinds) + type(3600, false) + type(7200, true) + "ABC" +
         '\0' + std::string(footer);
}

Duration ahead(const TimeZone& zone, const char* at) { return zone.ahead_at(*parse_time(at)); }

TEST(TimeZone, ChangesWhenItsFileSaysSo) {
  const auto zone = TimeZone::parse(file("\n\n"));
  ASSERT_TRUE(zone) << zone.error().message;
  EXPECT_EQ(zone->ahead_at({999'999'999'999}), 1h);
  EXPECT_EQ(zone->ahead_at({1'000'000'000'000}), 2h);
  EXPECT_EQ(zone->ahead_at({1'999'999'999'999}), 2h);
  EXPECT_EQ(zone->ahead_at({2'000'000'000'000}), 1h);
  EXPECT_EQ(ahead(*zone, "2026-07-01T00:00:00Z"), 1h);
}

TEST(TimeZone, FollowsItsRuleAfterTheLastChange) {
  struct Row {
    const char *rule, *winter, *summer;
  };
  for (const Row& row : {
           Row{"CET-1CEST,M3.5.0,M10.5.0/3", "1h", "2h"},
           {"EST5EDT,M3.2.0,M11.1.0", "-5h", "-4h"},
           {"AEST-10AEDT,M10.1.0,M4.1.0/3", "11h", "10h"},
           {"<-03>3", "-3h", "-3h"},
           {"IST-5:30", "5h30m", "5h30m"},
           {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "11h", "10h30m"},
           {"XXX3YYY,J60,J300", "-3h", "-2h"},
           {"XXX3YYY,59,299/-1", "-3h", "-2h"},
           {"IST-1GMT0,M10.5.0,M3.5.0/1", "0s", "1h"},
       }) {
    SCOPED_TRACE(row.rule);
    const auto zone = TimeZone::parse(file(std::string("\n") + row.rule + "\n"));
    ASSERT_TRUE(zone) << zone.error().message;
    EXPECT_EQ(ahead(*zone, "2100-01-15T00:00:00Z"), parse_duration(row.winter));
    EXPECT_EQ(ahead(*zone, "2100-07-15T00:00:00Z"), parse_duration(row.summer));
  }
  const auto berlin = TimeZone::parse(file("\nCET-1CEST,M3.5.0,M10.5.0/3\n"));
  EXPECT_EQ(ahead(*berlin, "2026-03-29T00:59:59Z"), 1h);
  EXPECT_EQ(ahead(*berlin, "2026-03-29T01:00:00Z"), 2h);
  EXPECT_EQ(ahead(*berlin, "2026-10-25T00:59:59Z"), 2h);
  EXPECT_EQ(ahead(*berlin, "2026-10-25T01:00:00Z"), 1h);
}

TEST(TimeZone, RefusesWhatIsNoZone) {
  const std::string good = file("\n\n");
  for (const std::string& bad :
       {std::string(), std::string("TZif"), "X" + good, good.substr(0, good.size() - 12),
        file("\nCET\n"), file("\nCET-1CEST,M13.5.0,M10.5.0/3\n"), file("\nCET-1CEST,M3.5.0\n"),
        file("\nC-1\n"), file("\nCET-1"), file("\n\n", {"\7\0", 2}),
        header('2', -1, 1) + header('2', 0, 1), header(0, 0, 0) + "ABC" + '\0'})
    EXPECT_FALSE(TimeZone::parse(bad)) << bad.size();
}

TEST(TimeZone, IsFoundByItsName) {
  const std::filesystem::path nowhere = "/nonexistent/zoneinfo";
  EXPECT_EQ(time_zone("", nowhere)->ahead_at({}), 0h);
  EXPECT_EQ(time_zone("UTC", nowhere)->ahead_at({}), 0h);
  EXPECT_EQ(time_zone("Etc/GMT+5", nowhere)->ahead_at({}), -5h);
  EXPECT_EQ(time_zone("Etc/GMT-14", nowhere)->ahead_at({}), 14h);
  for (const char* name : {"Etc/GMT+13", "Etc/GMT+x", "Etc/GMT+", "Etc/GMT+05", "Europe/Berlin"}) {
    const auto zone = time_zone(name, nowhere);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().reason, Reason::kServiceUnavailable);
    EXPECT_EQ(zone.error().message, "unknown time zone " + std::string(name) +
                                        " (there is no time zone database here: install tzdata)");
  }
  EXPECT_EQ(time_zone("../etc/passwd", nowhere).error().message, "time: invalid location name");
  if (!time_zone("Europe/Berlin"))
    GTEST_SKIP() << "no time zone database here: apt-get install tzdata";
  EXPECT_EQ(ahead(*time_zone("Europe/Berlin"), "2026-07-01T00:00:00Z"), 2h);
  EXPECT_EQ(ahead(*time_zone("Asia/Kolkata"), "2026-07-01T00:00:00Z"), 5h + 30min);
  EXPECT_EQ(time_zone("Mars/Base").error().message, "unknown time zone Mars/Base");
  EXPECT_EQ(time_zone("Mars/Base").error().reason, Reason::kNotFound);
  EXPECT_EQ(time_zone("Europe").error().message, "is a directory");
}

TEST(TimeZone, TakesATimeThatClocksSkipOrShowTwiceAsGoDoes) {
  const auto zone = TimeZone::parse(file("\nCET-1CEST,M3.5.0,M10.5.0/3\n"));
  const auto utc = [&](const char* local) {
    return time_text(
        {zone->from_local(parse_time(local)->unix_nanos / 1'000'000'000) * 1'000'000'000});
  };
  EXPECT_EQ(utc("2026-07-01T12:00:00Z"), "2026-07-01T10:00:00Z");
  EXPECT_EQ(utc("2026-03-29T02:30:00Z"), "2026-03-29T01:30:00Z");  // skipped
  EXPECT_EQ(utc("2026-10-25T02:30:00Z"), "2026-10-25T01:30:00Z");  // twice
}

}  // namespace
}  // namespace berth::kube
