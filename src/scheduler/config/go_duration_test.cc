// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/go_duration.h"

#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

TEST(GoDuration, ReadsWhatGoReads) {
  const std::pair<std::string_view, std::int64_t> rows[] = {
      {"0", 0},
      {"15s", 15'000'000'000},
      {"1m30s", 90'000'000'000},
      {"1h15m30.918s", 4'530'918'000'000},
      {"-1.5h", -5'400'000'000'000},
      {"+5s", 5'000'000'000},
      {".5s", 500'000'000},
      {"5.s", 5'000'000'000},
      {"10ns", 10},
      {"11us", 11'000},
      {"12\u00b5s", 12'000},
      {"12\u03bcs", 12'000},
      {"13ms", 13'000'000},
      {"0.3333333333333333333h", 1'200'000'000'000},
      {"9007199254740993ns", 9'007'199'254'740'993},
      {"9223372036854775807ns", 9'223'372'036'854'775'807},
      {"-9223372036854775808ns", INT64_MIN},
      {"0.100000000000000000000h", 360'000'000'000},
  };
  for (const auto& [text, nanos] : rows) {
    const std::optional<Duration> read = parse_go_duration(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->count(), nanos) << text;
  }
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const std::string_view text :
       {"", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "15 s", "15 seconds", " 15s", "1s ",
        "9223372036854775808ns", "-9223372036854775809ns", "3000000h", "1x", "\xff"})
    EXPECT_FALSE(parse_go_duration(text)) << text;
}

TEST(GoDuration, PrintsAsGoPrints) {
  const std::pair<std::int64_t, std::string_view> rows[] = {
      {0, "0s"},
      {1, "1ns"},
      {1'100, "1.1\u00b5s"},
      {2'200'000, "2.2ms"},
      {3'300'000'000, "3.3s"},
      {245'000'000'000, "4m5s"},
      {245'001'000'000, "4m5.001s"},
      {18'367'001'000'000, "5h6m7.001s"},
      {480'000'000'001, "8m0.000000001s"},
      {600'000'000'000, "10m0s"},
      {INT64_MAX, "2562047h47m16.854775807s"},
      {INT64_MIN, "-2562047h47m16.854775808s"},
      {-1'500'000'000, "-1.5s"},
  };
  for (const auto& [nanos, text] : rows) {
    EXPECT_EQ(go_duration(Duration(nanos)), text);
    EXPECT_EQ(parse_go_duration(text), Duration(nanos)) << text;
  }
}

}  // namespace
}  // namespace berth::scheduler
