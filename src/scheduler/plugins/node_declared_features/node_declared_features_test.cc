// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

// A pod with host network in a user namespace needs its node to say that it can.
PodBuilder needy(const char* name) {
  return pod(name).spec("{hostNetwork: true, hostUsers: false}");
}

TEST(NodeDeclaredFeatures, KeepsPodsOffNodesThatLackAFeature) {
  const std::vector<std::string> needed = needy("p").compile()->spec->needed_features;
  ASSERT_EQ(needed.size(), 1u);
  PluginBench bench("NodeDeclaredFeatures");
  bench.with(node("with").feature("Aaa").feature(needed[0]).feature("Zzz"))
      .with(node("without"))
      .with(node("other").feature("Aaa"));
  const std::string no =
      "UnschedulableAndUnresolvable: node(s) didn't match Pod's required features";
  EXPECT_EQ(bench.filter(needy("p")), (Verdicts{{"with", ""}, {"without", no}, {"other", no}}));
  EXPECT_TRUE(bench.skips(pod("plain")));
  EXPECT_FALSE(bench.skips(needy("p")));
}

TEST(NodeDeclaredFeatures, QueuesWhenFeaturesChange) {
  PluginBench bench("NodeDeclaredFeatures");
  const NodePtr plain = node("n"), featured = node("n").feature("A");
  const PodPtr p = needy("p"), modest = pod("p"), stranger = needy("s"), stranger_was = pod("s");
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a node comes", node_event(action::kAdd, nullptr, plain), Hint::kQueue},
      {"a node declares more", node_event(action::kUpdateNodeDeclaredFeature, plain, featured),
       Hint::kQueue},
      {"it declares the same", node_event(action::kUpdateNodeDeclaredFeature, featured, featured),
       Hint::kSkip},
      {"the pod needs less", pod_event(action::kUpdate, p, modest), Hint::kQueue},
      {"the pod needs the same", pod_event(action::kUpdate, p, p), Hint::kSkip},
      {"another pod changes", pod_event(action::kUpdate, stranger_was, stranger), Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(p, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
