// SPDX-License-Identifier: Apache-2.0
#include "kube/cron_schedule.h"

#include <gtest/gtest.h>

#include "kube/time.h"

namespace berth::kube {
namespace {

WallTime at(const char* text) { return *parse_time(text); }

TEST(CronSchedule, KnowsTheNextTime) {
  struct Row {
    const char *schedule, *after, *next;
  };
  for (const Row& row : {
           Row{"* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"},
           {"* * * * *", "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"},
           {"*/15 * * * *", "2026-01-01T00:46:00Z", "2026-01-01T01:00:00Z"},
           {"5-20/5 3 * * *", "2026-01-01T03:15:00Z", "2026-01-01T03:20:00Z"},
           {"0 0 31 * *", "2026-02-01T00:00:00Z", "2026-03-31T00:00:00Z"},
           {"0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
           {"0 0 * * mon", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"},
           {"0 0 13 * fri", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},  // either
           {"0 0 1 jan,JUL *", "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"},
           {"@daily", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
           {"@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
           {"@monthly", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
           {"@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
           {"@every 90s", "2026-01-01T00:00:07Z", "2026-01-01T00:01:37Z"},
           {"CRON_TZ=Etc/GMT-2 0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T07:00:00Z"},
       }) {
    SCOPED_TRACE(row.schedule);
    const auto schedule = CronSchedule::parse(row.schedule);
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_EQ(time_text(schedule->next(at(row.after)).value_or(WallTime{})), row.next);
  }
  EXPECT_FALSE(CronSchedule::parse("0 0 30 2 *")->next(at("2026-01-01T00:00:00Z")));
}

TEST(CronSchedule, SaysWhatIsWrongWithIt) {
  const auto why = [](const char* text) { return CronSchedule::parse(text).error().message; };
  EXPECT_EQ(why(""), "empty spec string");
  EXPECT_EQ(why("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(why("60 * * * *"), "end of range (60) above maximum (59): 60");
  EXPECT_EQ(why("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(why("9-5 * * * *"), "beginning of range (9) beyond end of range (5): 9-5");
  EXPECT_EQ(why("*/0 * * * *"), "step of range should be a positive number: */0");
  EXPECT_EQ(why("1-2-3 * * * *"), "too many hyphens: 1-2-3");
  EXPECT_EQ(why("1/2/3 * * * *"), "too many slashes: 1/2/3");
  EXPECT_EQ(why("x * * * *"),
            "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
  EXPECT_EQ(why("\t@hourly"), "expected exactly 5 fields, found 1: [@hourly]");
  EXPECT_TRUE(CronSchedule::parse("1,,2 * * * * "));
  EXPECT_EQ(why("@often"), "unrecognized descriptor: @often");
  EXPECT_EQ(why("@daily 5"), "unrecognized descriptor: @daily 5");
  EXPECT_EQ(why("@every day"),
            "failed to parse duration @every day: time: invalid duration \"day\"");
  EXPECT_EQ(why("TZ=UTC"), "invalid schedule format");
  EXPECT_EQ(why("TZ=Mars/Base * * * * *"),
            "provided bad location Mars/Base: unknown time zone Mars/Base");
}

// Expected times are those of robfig/cron v3.0.1 with Go's time zones.
TEST(CronSchedule, GoesByTheClocksOfItsZone) {
  const auto berlin = time_zone("Europe/Berlin");
  if (!berlin) GTEST_SKIP() << "no time zone database here: apt-get install tzdata";
  struct Row {
    const char *zone, *schedule, *after, *next;
  };
  for (const Row& row : {
           Row{"Europe/Berlin", "0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T08:00:00Z"},
           {"Europe/Berlin", "0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"},
           // Clocks go from 2:00 to 3:00 on March 29th and from 3:00 to 2:00 on October 25th.
           {"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
           {"Europe/Berlin", "*/30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
           {"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
           {"Europe/Berlin", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
           {"America/New_York", "0 0 * * mon", "2026-11-01T12:00:00Z", "2026-11-02T05:00:00Z"},
           {"Asia/Kolkata", "0 9 1 * *", "2026-01-01T12:00:00Z", "2026-02-01T03:30:00Z"},
           // There is no midnight on that day.
           {"America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z"},
           {"America/Sao_Paulo", "0 1 4 * *", "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"},
           {"America/Sao_Paulo", "0 12 * * sun", "2018-11-03T12:00:00Z", "2018-11-04T14:00:00Z"},
           // Half an hour is skipped.
           {"Australia/Lord_Howe", "0 2 * * *", "2026-10-03T00:00:00Z", "2026-10-04T15:00:00Z"},
           // Long after the last change that is listed.
           {"Europe/Berlin", "0 9 * * *", "2101-07-01T00:00:00Z", "2101-07-01T07:00:00Z"},
           {"Australia/Sydney", "0 9 * * *", "2101-01-01T00:00:00Z", "2101-01-01T22:00:00Z"},
       }) {
    SCOPED_TRACE(std::string(row.zone) + " " + row.schedule + " after " + row.after);
    const auto schedule = CronSchedule::parse(row.schedule, time_zone(row.zone).value());
    ASSERT_TRUE(schedule);
    EXPECT_EQ(time_text(schedule->next(at(row.after)).value_or(WallTime{})), row.next);
  }
}

}  // namespace
}  // namespace berth::kube
