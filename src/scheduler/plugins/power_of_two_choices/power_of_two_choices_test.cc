// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"

namespace berth::scheduler {
namespace {

using namespace test;

// How often each node won.
std::map<std::string, int> wins(PluginBench& bench, int rounds) {
  std::map<std::string, int> won;
  for (int i = 0; i < rounds; ++i)
    for (const auto& [name, value] : bench.raw(pod("p"))) won[name] += value == 100 ? 1 : 0;
  return won;
}

TEST(PowerOfTwoChoices, TheMostLoadedNodeNeverWinsAndTheLeastOftenDoes) {
  TestServices services;
  PluginBench bench("PowerOfTwoChoices", {}, &services);
  const char* cpu[] = {"1", "2", "3", "4"};
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("n{}", i);
    bench.with(node(name).cpu("8").memory("8Gi")).with(pod("on-" + name).cpu(cpu[i]).on(name));
  }
  const auto won = wins(bench, 1200);
  // Of six pairs the least loaded is in three, the next decides two, the next one.
  EXPECT_NEAR(won.at("n0"), 600, 80);
  EXPECT_NEAR(won.at("n1"), 400, 80);
  EXPECT_NEAR(won.at("n2"), 200, 80);
  EXPECT_EQ(won.at("n3"), 0);
}

TEST(PowerOfTwoChoices, LoadIsTheScarcerResource) {
  PluginBench bench("PowerOfTwoChoices");
  bench.with(node("cpu").cpu("10").memory("10Gi")).with(pod("a").cpu("6").memory("1Gi").on("cpu"));
  bench.with(node("mem").cpu("10").memory("10Gi")).with(pod("b").cpu("1").memory("7Gi").on("mem"));
  EXPECT_EQ(wins(bench, 10), (std::map<std::string, int>{{"cpu", 10}, {"mem", 0}}));
}

TEST(PowerOfTwoChoices, OneNodeIsNoChoice) {
  PluginBench bench("PowerOfTwoChoices");
  bench.with(node("only"));
  EXPECT_EQ(bench.raw(pod("p")), (Points{{"only", 100}}));
}

}  // namespace
}  // namespace berth::scheduler
