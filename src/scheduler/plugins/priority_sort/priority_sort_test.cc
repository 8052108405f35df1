// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

TEST(PrioritySort, PutsPriorityBeforeTimeAndTimeBeforeNothing) {
  PluginBench bench("PrioritySort");
  const PodPtr low = pod("low").priority(10), high = pod("high").priority(100), none = pod("none");
  const Instant early{1s}, late{2s};
  struct Row {
    const char* name;
    QueueEntry a, b;
    bool a_first, b_first;
  };
  const Row rows[] = {
      {"higher priority, later", {*high, late}, {*low, early}, true, false},
      {"same priority, earlier", {*high, early}, {*high, late}, true, false},
      {"same in all", {*high, early}, {*high, early}, false, false},
      {"no priority is 0", {*none, early}, {*low, late}, false, true},
  };
  const QueueSort& sort = bench.as<QueueSort>();
  for (const Row& row : rows) {
    EXPECT_EQ(sort.less(row.a, row.b), row.a_first) << row.name;
    EXPECT_EQ(sort.less(row.b, row.a), row.b_first) << row.name;
  }
}

}  // namespace
}  // namespace berth::scheduler
