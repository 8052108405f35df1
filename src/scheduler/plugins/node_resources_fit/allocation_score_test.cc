// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_resources_fit/allocation_score.h"

#include "base/random.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
using Strategy = NodeResourcesFitArgs::Strategy;

std::int64_t in_integers(std::int64_t part, std::int64_t whole) { return part * 100 / whole; }

TEST(Percent, IsIntegerDivisionOnRandomAmounts) {
  Random random(4);
  for (int i = 0; i < 300'000; ++i) {
    const std::int64_t whole =
        static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(46)))) + 1;
    const auto part =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(whole) + 1));
    ASSERT_EQ(percent(static_cast<double>(part), static_cast<double>(whole)),
              in_integers(part, whole))
        << part << " of " << whole;
  }
}

TEST(Percent, IsIntegerDivisionJustBelowEveryWholePercent) {
  Random random(5);
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t whole = kMost - static_cast<std::int64_t>(random.below(1u << 20));
    for (std::int64_t k = 0; k <= 100; k += 1 + static_cast<std::int64_t>(random.below(7)))
      for (std::int64_t off = -1; off <= 1; ++off) {
        const std::int64_t part = k * whole / 100 + off;
        if (part < 0 || part > whole) continue;
        ASSERT_EQ(percent(static_cast<double>(part), static_cast<double>(whole)),
                  in_integers(part, whole))
            << part << " of " << whole;
      }
  }
}

PluginBench bench_with(Strategy strategy, std::vector<ShapePoint> shape = {},
                       std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}}) {
  NodeResourcesFitArgs args;
  args.strategy = strategy;
  args.shape = std::move(shape);
  args.resources = std::move(resources);
  return PluginBench("NodeResourcesFit", args);
}
PodBuilder no_containers() { return pod("p").spec("containers: []"); }
PodBuilder asks(const char* cpu, const char* memory) { return pod("p").cpu(cpu).memory(memory); }
NodeBuilder sized(const char* name, const char* cpu, const char* memory) {
  return node(name).cpu(cpu).memory(memory);
}

// 37 and 50 are kube-scheduler's own tests; the other numbers here and below follow from the
// formulas by hand.
TEST(LeastAllocated, PrefersNodesWithMuchLeft) {
  PluginBench bench = bench_with(Strategy::kLeastAllocated);
  bench.with(sized("a", "4000m", "10000")).with(sized("b", "6000m", "10000"));
  EXPECT_EQ(bench.raw(no_containers()), (Points{{"a", 100}, {"b", 100}}));
  EXPECT_EQ(bench.raw(asks("3000m", "5000")), (Points{{"a", 37}, {"b", 50}}));
  bench.with(asks("3000m", "5000").uid("x").metadata("name: x").on("a"));
  EXPECT_EQ(bench.raw(no_containers()).at("a"), (25 + 50) / 2);
  EXPECT_EQ(bench.raw(asks("3000m", "5000")).at("a"), 0) << "more than there is counts as nothing";
}

TEST(LeastAllocated, ContainersThatAskForNothingCountWithDefaults) {
  PluginBench bench = bench_with(Strategy::kLeastAllocated);
  bench.with(sized("n", "1000m", "1000Mi"));
  EXPECT_EQ(bench.raw(pod("p")).at("n"), (90 + 80) / 2);
  bench.with(pod("there").on("n"));
  EXPECT_EQ(bench.raw(pod("p")).at("n"), (80 + 60) / 2);
}

TEST(LeastAllocated, WeighsResourcesAndLeavesOutWhatDoesNotCount) {
  PluginBench bench =
      bench_with(Strategy::kLeastAllocated, {},
                 {{"cpu", 2}, {"memory", 1}, {"example.com/gpu", 5}, {"nonsense", 9}});
  bench.with(sized("a", "4000m", "10000"))
      .with(sized("b", "4000m", "10000").allocatable("example.com/gpu", "8"));
  EXPECT_EQ(bench.raw(asks("3000m", "5000")), (Points{{"a", 33}, {"b", 33}}));
  EXPECT_EQ(bench.raw(asks("3000m", "5000").request("example.com/gpu", "2")),
            (Points{{"a", 33}, {"b", (25 * 2 + 50 + 75 * 5) / 8}}));
  PluginBench none = bench_with(Strategy::kLeastAllocated);
  none.with(node("empty"));
  EXPECT_EQ(none.raw(asks("1", "1")).at("empty"), 0);
}

TEST(MostAllocated, PrefersNodesWithLittleLeft) {
  PluginBench bench = bench_with(Strategy::kMostAllocated);
  bench.with(sized("a", "4000m", "10000")).with(sized("b", "6000m", "10000"));
  EXPECT_EQ(bench.raw(no_containers()), (Points{{"a", 0}, {"b", 0}}));
  EXPECT_EQ(bench.raw(asks("3000m", "5000")), (Points{{"a", 62}, {"b", 50}}));
  EXPECT_EQ(bench.raw(asks("5000m", "5000")), (Points{{"a", 75}, {"b", 66}}));
}

TEST(RequestedToCapacityRatio, FollowsItsShape) {
  const std::vector<ShapePoint> rising = {{0, 0}, {100, 10}}, falling = {{0, 10}, {100, 0}},
                                tent = {{0, 0}, {40, 10}, {100, 3}};
  struct Row {
    const char* name;
    std::vector<ShapePoint> shape;
    Points want;
  };
  // A pod of 3000m, 5000 on 4000m, 10000: 75 % and 50 %; on 6000m, 10000: 50 % and 50 %.
  const Row rows[] = {
      {"rising", rising, {{"a", 63}, {"b", 50}}},    // 62.5 goes up
      {"falling", falling, {{"a", 38}, {"b", 50}}},  // 37.5
      {"tent", tent, {{"a", 75}, {"b", 89}}},  // 60 and 89: falls by 7/6 a percent, towards zero
      {"flat beyond its ends", {{60, 4}, {70, 8}}, {{"a", 60}, {"b", 40}}},
  };
  for (const Row& row : rows) {
    PluginBench bench = bench_with(Strategy::kRequestedToCapacityRatio, row.shape);
    bench.with(sized("a", "4000m", "10000")).with(sized("b", "6000m", "10000"));
    EXPECT_EQ(bench.raw(asks("3000m", "5000")), row.want) << row.name;
  }
}

TEST(RequestedToCapacityRatio, AResourceThatScoresNothingHasNoWeight) {
  PluginBench bench = bench_with(Strategy::kRequestedToCapacityRatio, {{0, 0}, {100, 10}});
  bench.with(sized("n", "4000m", "1000000000"));
  EXPECT_EQ(bench.raw(asks("2000m", "1")).at("n"), 50);
}

TEST(AllocationScore, IsTheSameInDoublesAndInIntegers) {
  Random random(6);
  const auto amount = [&random](unsigned bits) {
    return static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(bits)));
  };
  for (const Strategy strategy :
       {Strategy::kLeastAllocated, Strategy::kMostAllocated, Strategy::kRequestedToCapacityRatio}) {
    NodeResourcesFitArgs args;
    args.strategy = strategy;
    args.shape = {{10, 9}, {33, 2}, {80, 10}};
    args.resources = {{"cpu", 7}, {"memory", 100}, {"ephemeral-storage", 3}, {"example.com/x", 11}};
    PluginBench bench("NodeResourcesFit", args);
    for (int i = 0; i < 300; ++i) {
      const std::string name = fmt::format("n{}", i);
      bench.with(node(name)
                     .cpu(fmt::format("{}m", amount(20)))
                     .memory(fmt::to_string(amount(46)))
                     .disk(fmt::to_string(amount(46)))
                     .allocatable("example.com/x", fmt::to_string(amount(10))));
      bench.with(pod("on-" + name)
                     .cpu(fmt::format("{}m", amount(19)))
                     .memory(fmt::to_string(amount(44)))
                     .request("example.com/x", "1")
                     .on(name));
    }
    const PodPtr p = pod("p")
                         .cpu("37m")
                         .memory("123456")
                         .request("example.com/x", "2")
                         .request("ephemeral-storage", "77");
    const Points points = bench.raw(p);
    const AllocationScore scorer(args);
    const auto resources =
        scored_resources(args.resources, p->spec->asked_nonzero, bench.cluster());
    ASSERT_EQ(resources.size(), 4u);
    const Rows rows = bench.cluster().rows();
    for (std::uint32_t row = 0; row < rows.size; ++row)
      EXPECT_EQ(points.at(bench.cluster().node(rows.node[row]).name),
                scorer.exact(resources, ExactRow(rows, row)))
          << row;
  }
}

}  // namespace
}  // namespace berth::scheduler
