// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char* kTaken =
    "Unschedulable: node(s) didn't have free ports for the requested pod ports";

TEST(NodePorts, ConflictsAreByProtocolPortAndAddress) {
  struct Row {
    const char* name;
    PodBuilder held, wanted;
    bool fits;
  };
  const Row rows[] = {
      {"another port", pod("h").host_port(8080), pod("p").host_port(8081), true},
      {"the same port", pod("h").host_port(8080), pod("p").host_port(8080), false},
      {"another protocol", pod("h").host_port(8080, "UDP"), pod("p").host_port(8080, "TCP"), true},
      {"another address", pod("h").host_port(80, "TCP", "127.0.0.1"),
       pod("p").host_port(80, "TCP", "127.0.0.2"), true},
      {"the same address", pod("h").host_port(80, "TCP", "127.0.0.1"),
       pod("p").host_port(80, "TCP", "127.0.0.1"), false},
      {"any address wanted", pod("h").host_port(80, "TCP", "127.0.0.1"), pod("p").host_port(80),
       false},
      {"any address held", pod("h").host_port(80), pod("p").host_port(80, "TCP", "127.0.0.1"),
       false},
      {"one of several", pod("h").host_port(1).host_port(2), pod("p").host_port(3).host_port(2),
       false},
  };
  for (const Row& row : rows) {
    PluginBench bench("NodePorts");
    bench.with(node("busy")).with(node("idle")).with(PodBuilder(row.held).on("busy"));
    EXPECT_EQ(bench.filter(row.wanted), (Verdicts{{"busy", row.fits ? "" : kTaken}, {"idle", ""}}))
        << row.name;
  }
}

TEST(NodePorts, APodWithoutHostPortsIsNotLookedAt) {
  PluginBench bench("NodePorts");
  bench.with(node("n"));
  EXPECT_TRUE(bench.skips(pod("p")));
  EXPECT_FALSE(bench.skips(pod("p").host_port(80)));
}

TEST(NodePorts, WhatIfsCount) {
  PluginBench bench("NodePorts");
  const PodPtr holder = pod("h").host_port(80).on("n"), wanted = pod("p").host_port(80);
  bench.with(node("n")).with(node("free")).with(holder);
  EXPECT_EQ(
      bench.filter_if(wanted, "n",
                      [&](WhatIf& what_if, std::uint32_t row) { what_if.remove(row, holder); }),
      "");
  const PodPtr nominated = pod("x").host_port(80);
  EXPECT_EQ(
      bench.filter_if(wanted, "free",
                      [&](WhatIf& what_if, std::uint32_t row) { what_if.add(row, nominated); }),
      kTaken);
}

TEST(NodePorts, QueuesWhenAPortMayHaveBecomeFree) {
  PluginBench bench("NodePorts");
  const PodPtr wanted = pod("p").host_port(80);
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const auto gone = [](const PodBuilder& pod) {
    return pod_event(action::kDelete, pod.compile(), nullptr);
  };
  const Row rows[] = {
      {"a holder goes", gone(pod("h").host_port(80).on("n")), Hint::kQueue},
      {"a nominated one goes", gone(pod("h").host_port(80).nominated("n")), Hint::kQueue},
      {"it had no node", gone(pod("h").host_port(80)), Hint::kSkip},
      {"it had no ports", gone(pod("h").on("n")), Hint::kSkip},
      {"it had another port", gone(pod("h").host_port(81).on("n")), Hint::kSkip},
      {"a node comes", node_event(action::kAdd, nullptr, node("n")), Hint::kQueue},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(wanted, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
