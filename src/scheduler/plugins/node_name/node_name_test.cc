// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

TEST(NodeName, KeepsANamedPodFromEveryOtherNode) {
  PluginBench bench("NodeName");
  bench.with(node("a")).with(node("b"));
  const std::string no =
      "UnschedulableAndUnresolvable: node(s) didn't match the requested node name";
  EXPECT_EQ(bench.filter(pod("p")), (Verdicts{{"a", ""}, {"b", ""}}));
  EXPECT_EQ(bench.filter(pod("p").on("a")), (Verdicts{{"a", ""}, {"b", no}}));
  EXPECT_EQ(bench.filter(pod("p").on("b")), (Verdicts{{"a", no}, {"b", ""}}));
  EXPECT_EQ(bench.filter(pod("p").on("elsewhere")), (Verdicts{{"a", no}, {"b", no}}));
}

TEST(NodeName, ANewNodeMayBeTheOne) {
  PluginBench bench("NodeName");
  const NodePtr n = node("n");
  EXPECT_EQ(bench.hint(pod("p"), node_event(action::kAdd, nullptr, n)), Hint::kQueue);
  EXPECT_EQ(bench.hint(pod("p"), node_event(action::kUpdateNodeLabel, n, n)), Hint::kSkip);
}

}  // namespace
}  // namespace berth::scheduler
