// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

// The node that wins; it is then used.
std::string place(PluginBench& bench) {
  std::string winner;
  for (const auto& [name, value] : bench.raw(pod("p")))
    if (value == 100) winner += name;
  const auto attempt = bench.attempt(pod("p"));
  EXPECT_TRUE(bench.as<Reserve>().reserve(attempt->cycle, winner).ok());
  return winner;
}

TEST(RoundRobin, GoesFromNodeToNodeAndBeginsAnew) {
  PluginBench bench("RoundRobin");
  bench.with(node("a")).with(node("b")).with(node("c"));
  std::string order;
  for (int i = 0; i < 7; ++i) order += place(bench);
  EXPECT_EQ(order, "abcabca");
}

TEST(RoundRobin, PassesOverNodesThatDoNotFit) {
  PluginBench bench("RoundRobin");
  bench.with(node("a")).with(node("b")).with(node("c"));
  EXPECT_EQ(place(bench), "a");
  const auto attempt = bench.attempt(pod("p"));
  const Rows rows = bench.cluster().rows();
  RowSet feasible(3, true);
  feasible.erase(1);
  const Score& score = bench.as<Score>();
  EXPECT_TRUE(score.prepare_score(attempt->cycle, {rows, feasible, 2}).ok());
  std::vector<std::int64_t> raw(3, -1);
  EXPECT_TRUE(score.score(attempt->cycle, rows, feasible, raw).ok());
  EXPECT_EQ(raw, (std::vector<std::int64_t>{0, -1, 100}));
}

TEST(RoundRobin, GoesOnWhereItWasWhenNodesComeAndGo) {
  PluginBench bench("RoundRobin");
  bench.with(node("a")).with(node("b")).with(node("c")).with(node("d"));
  EXPECT_EQ(place(bench), "a");
  EXPECT_EQ(place(bench), "b");
  bench.cluster().remove_node("a");
  EXPECT_EQ(place(bench), "c");
  bench.cluster().remove_node("c");
  EXPECT_EQ(place(bench), "d");
  EXPECT_EQ(place(bench), "b");
}

TEST(RoundRobin, SaysWhatIsMissingWithoutPreScore) {
  PluginBench bench("RoundRobin");
  bench.with(node("a"));
  const auto attempt = bench.attempt(pod("p"));
  std::vector<std::int64_t> raw(1);
  const Status status =
      bench.as<Score>().score(attempt->cycle, bench.cluster().rows(), RowSet(1, true), raw);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.message(), "RoundRobin must be enabled at preScore too");
}

}  // namespace
}  // namespace berth::scheduler
