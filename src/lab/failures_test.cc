// SPDX-License-Identifier: Apache-2.0
#include "bench_for_test.h"
#include "kube/pod_view.h"

namespace berth::lab {
namespace {

int restarts(const kube::Object& pod) {
  return static_cast<int>(
      pod.status()["containerStatuses"][std::size_t{0}]["restartCount"].integer().value_or(-1));
}

WallTime renewed(Bench& bench, std::string_view node) {
  return *kube::parse_time(bench.lease(node)->member("spec")["renewTime"].text());
}

class Outages : public testing::TestWithParam<Heartbeat> {
 protected:
  LabOptions nodes(std::size_t count) {
    LabOptions options = some_nodes(count);
    options.heartbeat = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Heartbeats, Outages,
                         testing::Values(Heartbeat::kPaced, Heartbeat::kOnDemand),
                         [](const auto& row) {
                           return row.param == Heartbeat::kPaced ? "Paced" : "OnDemand";
                         });

TEST_P(Outages, ACrashedNodeIsSilentAndItsPodsStartAgainWhenItIsBack) {
  Bench bench(nodes(2));
  std::vector<std::string> told;
  bench.lab->silence()->subscribe([&](const std::string& node) { told.push_back(node); });
  bench.create(PodText("web"));
  bench.world.run_for(35s);
  EXPECT_FALSE(bench.lab->silence()->since("node-0"));
  ASSERT_TRUE(bench.lab->fail_node("node-0"));
  const auto since = bench.lab->silence()->since("node-0");
  ASSERT_TRUE(since.has_value());
  EXPECT_EQ(*since, renewed(bench, "node-0"));
  EXPECT_LT(bench.world.clock().wall() - *since, 10s);
  EXPECT_EQ(bench.lab->counts().silent_nodes, 1u);
  bench.create(PodText("late"));
  bench.erase(kube::kPod, "web", 5);
  bench.world.run_for(10min);
  EXPECT_EQ(*since, renewed(bench, "node-0"));
  EXPECT_EQ(bench.phase("late"), "Pending") << "nobody is there to start it";
  EXPECT_EQ(bench.phase("web"), "Running") << "nobody is there to stop it";
  EXPECT_TRUE(bench.lab->recover_node("node-0"));
  bench.world.run_for(1s);
  EXPECT_EQ(bench.phase("late"), "Running");
  EXPECT_EQ(bench.phase("web"), "gone");
  EXPECT_FALSE(bench.lab->silence()->since("node-0"));
  EXPECT_LT(bench.world.clock().wall() - renewed(bench, "node-0"), 10s);
  EXPECT_EQ(told, (std::vector<std::string>{"node-0", "node-0"}));
}

TEST_P(Outages, WhatRanOnACrashedNodeHasRestartedAndOnACutOffOneHasNot) {
  Bench bench(nodes(2));
  bench.create(PodText("a").on("node-0"));
  bench.create(PodText("b").on("node-1"));
  bench.world.run_for(1s);
  bench.lab->fail_node("node-0", Outage::kCrashed);
  bench.lab->fail_node("node-1", Outage::kCutOff);
  bench.world.run_for(1min);
  bench.lab->recover_node("node-0");
  bench.lab->recover_node("node-1");
  bench.world.run_for(1min);
  EXPECT_EQ(restarts(*bench.pod("a")), 1);
  EXPECT_EQ(restarts(*bench.pod("b")), 0);
}

TEST(Heartbeats, TellTheSameMomentOfSilenceWhetherTheyAreWrittenOrNot) {
  const auto silences = [](Heartbeat how) {
    LabOptions options = some_nodes(40);
    options.heartbeat = how;
    Bench bench(options);
    std::vector<std::int64_t> all;
    Random chance(8);
    for (int i = 0; i < 40; ++i) {
      const std::string node = fmt::format("node-{:02}", i);
      bench.world.run_for(std::chrono::milliseconds(chance.below(25'000)));
      // Those that are due this very moment are written within a tenth of a second.
      bench.lab->fail_node(node);
      all.push_back(bench.lab->silence()->since(node)->unix_nanos / 1'000'000);
      EXPECT_EQ(bench.lab->silence()->since(node), renewed(bench, node));
      if (i % 3 == 0) bench.lab->recover_node(node);
    }
    return all;
  };
  EXPECT_EQ(silences(Heartbeat::kPaced), silences(Heartbeat::kOnDemand));
}

TEST(Failures, ANodeMarkedUnknownSaysThatItIsReadyOnceItIsBack) {
  Bench bench(some_nodes(1));
  bench.lab->fail_node("node-0", Outage::kCutOff);
  bench.patch(kube::kNode, "node-0",
              R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  bench.world.run_for(10min);
  const auto ready = [&] {
    return kube::find_condition(bench.node("node-0")->status(), "Ready")["status"].text();
  };
  EXPECT_EQ(ready(), "Unknown");
  bench.lab->recover_node("node-0");
  bench.world.run_for(1s);
  EXPECT_EQ(ready(), "True");
}

TEST(Failures, AnnotationsOnNodesMakeThemFailAndTheirRemovalMendsThem) {
  struct Row {
    const char* fail;
    bool silent;
    const char* condition;
    const char* status;
  };
  const Row rows[] = {{"crash", true, "Ready", "True"},
                      {"cut-off", true, "Ready", "True"},
                      {"not-ready", false, "Ready", "False"},
                      {"memory-pressure", false, "MemoryPressure", "True"},
                      {"disk-pressure", false, "DiskPressure", "True"},
                      {"pid-pressure", false, "PIDPressure", "True"}};
  for (const Row& row : rows) {
    Bench bench(some_nodes(1));
    bench.patch(
        kube::kNode, "node-0",
        fmt::format(R"({{"metadata":{{"annotations":{{"berth.dev/fail":"{}"}}}}}})", row.fail));
    bench.world.run_for(1s);
    EXPECT_EQ(bench.lab->silence()->since("node-0").has_value(), row.silent) << row.fail;
    EXPECT_EQ(kube::find_condition(bench.node("node-0")->status(), row.condition)["status"].text(),
              row.status)
        << row.fail;
    bench.patch(kube::kNode, "node-0", R"({"metadata":{"annotations":{"berth.dev/fail":null}}})");
    bench.world.run_for(1s);
    EXPECT_FALSE(bench.lab->silence()->since("node-0")) << row.fail;
    EXPECT_EQ(kube::find_condition(bench.node("node-0")->status(), "Ready")["status"].text(),
              "True");
    EXPECT_EQ(kube::find_condition(bench.node("node-0")->status(), "DiskPressure")["status"].text(),
              "False");
  }
}

TEST(Failures, AZoneFailsAndComesBackWhole) {
  Bench bench(some_nodes(9));
  EXPECT_EQ(bench.lab->fail_zone("lab-b"), 3u);
  EXPECT_EQ(bench.lab->counts().silent_nodes, 3u);
  EXPECT_TRUE(bench.lab->silence()->since("node-4"));
  EXPECT_FALSE(bench.lab->silence()->since("node-3"));
  EXPECT_EQ(bench.lab->recover_zone("lab-b"), 3u);
  EXPECT_EQ(bench.lab->counts().silent_nodes, 0u);
  EXPECT_EQ(bench.lab->fail_zone("nowhere"), 0u);
}

TEST(Failures, AFlappingNodeGoesAndComesAsOftenAsItWasTold) {
  Bench bench(some_nodes(1));
  int changes = 0;
  bench.lab->silence()->subscribe([&](const std::string&) { ++changes; });
  ASSERT_TRUE(bench.lab->flap_node("node-0", 20s, 40s, 3));
  bench.world.run_for(10s);
  EXPECT_TRUE(bench.lab->silence()->since("node-0"));
  bench.world.run_for(20s);
  EXPECT_FALSE(bench.lab->silence()->since("node-0"));
  bench.world.run_for(10min);
  EXPECT_EQ(changes, 6);
  EXPECT_FALSE(bench.lab->flap_node("nobody", 1s, 1s, 1));
}

TEST(Failures, ASlowNodeTakesLongerForEverything) {
  Bench bench(some_nodes(2));
  bench.lab->slow_node("node-1", 3);
  for (const char* node : {"node-0", "node-1"})
    bench.create(PodText(std::string("on-") + node)
                     .on(node)
                     .policy("Never")
                     .note("berth.dev/duration", "10s"));
  bench.world.run_for(12s);
  EXPECT_EQ(bench.phase("on-node-0"), "Succeeded");
  EXPECT_EQ(bench.phase("on-node-1"), "Running");
  bench.world.run_for(20s);
  EXPECT_EQ(bench.phase("on-node-1"), "Succeeded");
}

TEST(Failures, APodCrashesOnDemand) {
  Bench bench(some_nodes(1));
  bench.create(PodText("web"));
  bench.create(PodText("job").policy("Never"));
  bench.world.run_for(1s);
  EXPECT_TRUE(bench.lab->fail_pod({"default", "web"}));
  EXPECT_TRUE(bench.lab->fail_pod({"default", "job"}));
  EXPECT_FALSE(bench.lab->fail_pod({"default", "nobody"}));
  bench.world.run_for(1s);
  EXPECT_EQ(restarts(*bench.pod("web")), 1);
  EXPECT_EQ(bench.phase("job"), "Failed");
}

TEST(Failures, NobodyTouchesPodsOfANodeThatIsGoneUntilItIsMadeAgain) {
  Bench bench(some_nodes(1));
  bench.create(PodText("p").policy("Never").note("berth.dev/duration", "1m"));
  bench.world.run_for(1s);
  bench.erase(kube::kNode, "node-0");
  bench.world.run_for(10min);
  EXPECT_EQ(bench.phase("p"), "Running");
  EXPECT_EQ(bench.lab->counts().nodes, 0u);
  bench.create(kube::kNode, R"({"metadata":{"name":"node-0"},"spec":{}})");
  bench.world.run_for(1s);
  EXPECT_EQ(bench.phase("p"), "Succeeded");
}

TEST(Failures, ALabThatStartsAgainGoesOnWhereItWas) {
  Bench bench(some_nodes(2));
  bench.create(PodText("done").policy("Never").note("berth.dev/duration", "2s"));
  bench.create(PodText("runs").policy("Never").note("berth.dev/duration", "30s"));
  bench.world.run_for(10s);
  const std::string before = bench.pod("runs")->status()["podIP"].text();
  bench.stop_lab();
  bench.start_lab(some_nodes(2), 9);
  bench.world.run_for(9s);
  EXPECT_TRUE(bench.started->has_value());
  EXPECT_EQ(bench.phase("runs"), "Running");
  bench.create(PodText("new"));
  EXPECT_NE(bench.pod("new")->status()["podIP"].text(), before);
  bench.world.run_for(15s);
  EXPECT_EQ(bench.phase("runs"), "Succeeded");
}

}  // namespace
}  // namespace berth::lab
