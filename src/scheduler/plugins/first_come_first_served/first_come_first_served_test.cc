// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

TEST(FirstComeFirstServed, OrdersPodsByTimeAlone) {
  PluginBench bench("FirstComeFirstServed");
  const QueueSort& sort = bench.as<QueueSort>();
  const PodPtr low = pod("low").priority(1), high = pod("high").priority(1000);
  EXPECT_TRUE(sort.less({*low, {1s}}, {*high, {2s}}));
  EXPECT_FALSE(sort.less({*high, {2s}}, {*low, {1s}}));
  EXPECT_FALSE(sort.less({*high, {1s}}, {*low, {1s}}));
}

TEST(FirstComeFirstServed, TakesTheFirstNodeThatFits) {
  PluginBench bench("FirstComeFirstServed");
  bench.with(node("b")).with(node("a")).with(node("c"));
  EXPECT_EQ(bench.raw(pod("p")), (Points{{"b", 100}, {"a", 0}, {"c", 0}}))
      << "nodes stand in the order in which they came";
}

}  // namespace
}  // namespace berth::scheduler
