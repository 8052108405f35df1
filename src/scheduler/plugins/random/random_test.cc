// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"

namespace berth::scheduler {
namespace {

using namespace test;

std::string winner(const Points& points) {
  std::string found;
  for (const auto& [name, value] : points) {
    EXPECT_TRUE(value == 0 || value == 100);
    if (value == 100) found += name;
  }
  return found;
}

TEST(Random, DrawsEachNodeAboutAsOften) {
  TestServices services;
  PluginBench bench("Random", {}, &services);
  std::map<std::string, int> drawn;
  for (const char* name : {"a", "b", "c", "d"}) {
    bench.with(node(name));
    drawn[name] = 0;
  }
  for (int i = 0; i < 4000; ++i) ++drawn.at(winner(bench.raw(pod("p"))));
  for (const auto& [name, times] : drawn) EXPECT_NEAR(times, 1000, 150) << name;
}

TEST(Random, TheSameSeedDrawsTheSameNodes) {
  const auto run = [](std::uint64_t seed) {
    TestServices services(nullptr, seed);
    PluginBench bench("Random", {}, &services);
    for (const char* name : {"a", "b", "c", "d"}) bench.with(node(name));
    std::string drawn;
    for (int i = 0; i < 20; ++i) drawn += winner(bench.raw(pod("p")));
    return drawn;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Random, LogsWhereAPodWentOnceItIsBound) {
  TestServices services;
  PluginBench bench("Random", {}, &services);
  bench.with(node("a")).with(node("b"));
  const auto attempt = bench.attempt(pod("web"));
  const Rows rows = bench.cluster().rows();
  const RowSet all(2, true);
  EXPECT_TRUE(bench.as<Score>().prepare_score(attempt->cycle, {rows, all, 2}).ok());
  EXPECT_TRUE(bench.as<Reserve>().reserve(attempt->cycle, "b").ok());
  EXPECT_EQ(services.logged(), "");
  bench.as<PostBind>().post_bind(attempt->cycle, "b");
  EXPECT_THAT(services.logged(), testing::HasSubstr("placed at random"));
  EXPECT_THAT(services.logged(), testing::HasSubstr("node=b nodes=2 pods=1"));
}

TEST(Random, NeedsNoServicesToExplainItself) {
  PluginBench bench("Random");
  bench.with(node("a")).with(node("b"));
  EXPECT_EQ(winner(bench.raw(pod("p"))).size(), 1u);
}

}  // namespace
}  // namespace berth::scheduler
