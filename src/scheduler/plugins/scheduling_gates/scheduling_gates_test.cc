// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

TEST(SchedulingGates, APodWithGatesWaitsForThem) {
  PluginBench bench("SchedulingGates");
  const PreEnqueue& gates = bench.as<PreEnqueue>();
  EXPECT_TRUE(gates.pre_enqueue(*pod("free").compile()).ok());
  const Status status = gates.pre_enqueue(*pod("gated").gate("foo").gate("bar").compile());
  EXPECT_EQ(status.code, Code::kUnresolvable);
  EXPECT_EQ(status.message(), "waiting for scheduling gates: [foo bar]");
}

TEST(SchedulingGates, OnlyThePodsOwnGatesMatter) {
  PluginBench bench("SchedulingGates");
  const PodPtr own = pod("p").gate("foo"), free = pod("p"), other = pod("other");
  EXPECT_EQ(bench.hint(own, pod_event(action::kUpdatePodGatesEliminated, own, free)), Hint::kQueue);
  EXPECT_EQ(bench.hint(own, pod_event(action::kUpdatePodGatesEliminated, other, other)),
            Hint::kSkip);
  EXPECT_EQ(bench.hint(own, pod_event(action::kUpdatePodLabel, own, free)), Hint::kSkip);
}

}  // namespace
}  // namespace berth::scheduler
