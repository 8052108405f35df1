// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char* kCordonKey = "node.kubernetes.io/unschedulable";

TEST(NodeUnschedulable, KeepsPodsOffCordonedNodesUnlessTheyTolerateIt) {
  PluginBench bench("NodeUnschedulable");
  bench.with(node("open")).with(node("closed").unschedulable());
  const Verdicts refused = {{"open", ""},
                            {"closed", "UnschedulableAndUnresolvable: node(s) were unschedulable"}};
  const Verdicts passed = {{"open", ""}, {"closed", ""}};
  EXPECT_EQ(bench.filter(pod("plain")), refused);
  EXPECT_EQ(bench.filter(pod("t").toleration(kCordonKey, "", "NoSchedule")), passed);
  EXPECT_EQ(bench.filter(pod("any").toleration(kCordonKey)), passed);
  EXPECT_EQ(bench.filter(pod("other").toleration(kCordonKey, "", "NoExecute")), refused);
}

TEST(NodeUnschedulable, QueuesWhenANodeOpensOrThePodToleratesIt) {
  PluginBench bench("NodeUnschedulable");
  const NodePtr open = node("n"), closed = node("n").unschedulable();
  const PodPtr plain = pod("p"), tolerant = pod("p").toleration(kCordonKey, "", "NoSchedule"),
               other = pod("other").toleration(kCordonKey, "", "NoSchedule");
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"an open node comes", node_event(action::kAdd, nullptr, open), Hint::kQueue},
      {"a closed node comes", node_event(action::kAdd, nullptr, closed), Hint::kSkip},
      {"a node opens", node_event(action::kUpdateNodeTaint, closed, open), Hint::kQueue},
      {"a node closes", node_event(action::kUpdateNodeTaint, open, closed), Hint::kSkip},
      {"a node stays open", node_event(action::kUpdateNodeTaint, open, open), Hint::kSkip},
      {"the pod tolerates it now", pod_event(action::kUpdatePodToleration, plain, tolerant),
       Hint::kQueue},
      {"another pod does", pod_event(action::kUpdatePodToleration, other, other), Hint::kSkip},
      {"the pod tolerates something else", pod_event(action::kUpdatePodToleration, plain, plain),
       Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(plain, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
