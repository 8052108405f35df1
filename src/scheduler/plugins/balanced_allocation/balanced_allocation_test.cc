// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

PodBuilder asks(const char* cpu, const char* memory) { return pod("p").cpu(cpu).memory(memory); }
NodeBuilder sized(const char* name, const char* cpu, const char* memory) {
  return node(name).cpu(cpu).memory(memory);
}
PodBuilder there(const char* name, const char* cpu, const char* memory, const char* on) {
  return pod(name).cpu(cpu).memory(memory).on(on);
}

// The numbers are those of kube-scheduler's own tests.
TEST(BalancedAllocation, PrefersNodesThatStayInBalance) {
  PluginBench empty("NodeResourcesBalancedAllocation");
  empty.with(sized("a", "4000m", "10000")).with(sized("b", "6000m", "10000"));
  EXPECT_EQ(empty.raw(asks("3000m", "5000")), (Points{{"a", 68}, {"b", 75}}));

  PluginBench used("NodeResourcesBalancedAllocation");
  used.with(sized("a", "10000m", "20000"))
      .with(sized("b", "10000m", "20000"))
      .with(sized("c", "10000m", "50000"));
  used.with(there("x", "3000m", "0", "a"))
      .with(there("y", "3000m", "5000", "b"))
      .with(there("z", "3000m", "5000", "c"));
  const Points points = used.raw(asks("3000m", "5000"));
  EXPECT_EQ(points.at("a"), 73);
  EXPECT_EQ(points.at("b"), 74);
  EXPECT_EQ(points.at("c"), 70);
}

TEST(BalancedAllocation, HasNoOpinionOnPodsThatAskForNothing) {
  PluginBench bench("NodeResourcesBalancedAllocation");
  bench.with(sized("a", "4000m", "10000"));
  EXPECT_TRUE(bench.raw(pod("p")).empty());
  EXPECT_TRUE(bench.raw(pod("p").request("example.com/gpu", "1")).empty());
  EXPECT_FALSE(bench.raw(pod("p").cpu("1m")).empty());
}

TEST(BalancedAllocation, OneResourceAloneIsInBalance) {
  PluginBench bench("NodeResourcesBalancedAllocation");
  bench.with(node("cpu-only").cpu("4"));
  EXPECT_EQ(bench.raw(asks("3", "5000")).at("cpu-only"), 75);
}

TEST(BalancedAllocation, CountsMoreResourcesWhereItIsToldTo) {
  BalancedAllocationArgs args;
  args.resources = {{"cpu", 1}, {"memory", 1}, {"example.com/gpu", 1}};
  PluginBench bench("NodeResourcesBalancedAllocation", args);
  bench.with(sized("plain", "4000m", "10000"))
      .with(sized("gpu", "4000m", "10000").allocatable("example.com/gpu", "4"));
  // 0.75 and 0.5 leave 87; with a gpu of 4, (0.75, 0.5, 0.25) deviate by 0.2041 and leave 79.
  EXPECT_EQ(bench.raw(asks("3000m", "5000")), (Points{{"plain", 68}, {"gpu", 68}}));
  EXPECT_EQ(bench.raw(asks("3000m", "5000").request("example.com/gpu", "1")),
            (Points{{"plain", 68}, {"gpu", 50 + (50 + 79 - 100) / 2}}));
}

TEST(BalancedAllocation, TheTablesBalanceAndTheGeneralWayAgree) {
  Random random(7);
  // The second way to configure the same takes the general way, as the third resource is unknown.
  BalancedAllocationArgs general;
  general.resources = {{"cpu", 1}, {"memory", 1}, {"example.com/none", 1}};
  PluginBench fast("NodeResourcesBalancedAllocation"),
      slow("NodeResourcesBalancedAllocation", general);
  for (int i = 0; i < 400; ++i) {
    const std::string name = fmt::format("n{}", i);
    const NodePtr n = node(name)
                          .cpu(fmt::format("{}m", random.below(5000)))
                          .memory(fmt::to_string(random.below(1u << 30)));
    const PodPtr p = pod("on-" + name)
                         .cpu(fmt::format("{}m", random.below(5000)))
                         .memory(fmt::to_string(random.below(1u << 30)))
                         .on(name);
    fast.with(n).with(p);
    slow.with(n).with(p);
  }
  EXPECT_EQ(fast.raw(asks("123m", "98765")), slow.raw(asks("123m", "98765")));
}

}  // namespace
}  // namespace berth::scheduler
