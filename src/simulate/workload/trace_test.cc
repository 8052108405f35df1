// SPDX-License-Identifier: Apache-2.0
#include "simulate/workload/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::simulate {
namespace {

constexpr std::string_view kTwo =
    "name,cpu_milli,memory_mib,num_gpu,creation_time,deletion_time,scheduled_time\n"
    "late,500,1024,0,100,160,110\r\n"
    "\n"
    "never,500,1024,0,100,160,\n"
    "early,12000,16384,1,0.5,3600,0.5\n";

std::string error_of(std::string_view csv) {
  const auto trace = read_trace(csv, "t.csv");
  return trace ? "" : trace.error().message;
}

TEST(Trace, IsReadByTheNamesOfItsColumnsAndSortedByArrival) {
  const auto trace = read_trace(kTwo, "t.csv");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->left_out, 1u);
  ASSERT_EQ(trace->pods.size(), 2u);
  EXPECT_EQ(trace->pods[0], (TracePod{.name = "early",
                                      .arrives = 500ms,
                                      .runs = 3599500ms,
                                      .cpu_milli = 12'000,
                                      .memory_mib = 16'384}));
  EXPECT_EQ(trace->pods[1].runs, 50s) << "it ran from when it was placed";
}

TEST(Trace, NeedsNoColumnOfPlacements) {
  const auto trace =
      read_trace("deletion_time,creation_time,memory_mib,cpu_milli,name\n9,2,1,1,p", "");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->pods.size(), 1u);
  EXPECT_EQ(trace->pods[0].runs, 7s);
}

TEST(Trace, NamesTheLineOfWhatCannotBeRead) {
  EXPECT_EQ(error_of(""), "t.csv: is empty");
  EXPECT_EQ(error_of("name,cpu_milli\n"),
            "t.csv:1: no column memory_mib; a trace has name, cpu_milli, memory_mib, creation_time "
            "and deletion_time");
  const std::string header = "name,cpu_milli,memory_mib,creation_time,deletion_time\n";
  EXPECT_EQ(error_of(header + "a,1,1,1,2\nb,x,1,1,2\n"),
            "t.csv:3: cpu_milli is \"x\", which is no such number");
  EXPECT_EQ(error_of(header + "a,1,1,-1,2\n"),
            "t.csv:2: creation_time is \"-1\", which is no such number");
  EXPECT_EQ(error_of(header + "a,1,1,1\n"),
            "t.csv:2: deletion_time is \"\", which is no such number");
  EXPECT_EQ(error_of(header + "a,1,1,nan,2\n"),
            "t.csv:2: creation_time is \"nan\", which is no such number");
  EXPECT_EQ(error_of(header + "a,1e99,1,1,2\n"),
            "t.csv:2: cpu_milli is \"1e99\", which is no such number");
}

TEST(Trace, CutKeepsWhatRunsAlreadyForTheRestOfItsTime) {
  Trace trace;
  trace.pods = {{.name = "over", .arrives = 0s, .runs = 10s},
                {.name = "runs", .arrives = 5s, .runs = 20s},
                {.name = "comes", .arrives = 15s, .runs = 100s},
                {.name = "later", .arrives = 30s, .runs = 1s}};
  const Trace part = cut(trace, 12s, 18s);
  ASSERT_EQ(part.pods.size(), 2u);
  EXPECT_EQ(part.pods[0], (TracePod{.name = "runs", .arrives = 0s, .runs = 13s}));
  EXPECT_EQ(part.pods[1], (TracePod{.name = "comes", .arrives = 3s, .runs = 100s}));
}

TEST(Trace, LeavesOutWhatNoNodeCanHold) {
  Trace trace;
  trace.pods = {{.name = "a", .cpu_milli = 1000, .memory_mib = 10},
                {.name = "b", .cpu_milli = 1001, .memory_mib = 10},
                {.name = "c", .cpu_milli = 1000, .memory_mib = 11}};
  trace = fitting(std::move(trace), 1000, 10);
  ASSERT_EQ(trace.pods.size(), 1u);
  EXPECT_EQ(trace.left_out, 2u);
}

TEST(Trace, MadeUpFollowsTheTimeOfDayAndItsSeedAlone) {
  const Trace trace = made_up_trace(Random(3), 640'000, 96h);
  EXPECT_EQ(trace.pods, made_up_trace(Random(3), 640'000, 96h).pods);
  EXPECT_NE(trace.pods, made_up_trace(Random(4), 640'000, 96h).pods);
  double by_hour[24] = {}, all = 0;  // core-seconds that arrive
  Duration last{};
  for (const TracePod& pod : trace.pods) {
    EXPECT_GE(pod.arrives, last);
    last = pod.arrives;
    const double work =
        static_cast<double>(pod.cpu_milli) / 1000 * std::chrono::duration<double>(pod.runs).count();
    by_hour[std::chrono::duration_cast<std::chrono::hours>(pod.arrives).count() % 24] += work;
    all += work;
  }
  EXPECT_GT(by_hour[13] + by_hour[14] + by_hour[15], 1.5 * (by_hour[1] + by_hour[2] + by_hour[3]));
  const double load = all / (640.0 * 96 * 3600);
  EXPECT_GT(load, 0.35);
  EXPECT_LT(load, 0.65);
}

}  // namespace
}  // namespace berth::simulate
