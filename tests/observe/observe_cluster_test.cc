// SPDX-License-Identifier: Apache-2.0
// What the page would be told of a whole cluster in virtual time: the tap at a real scheduler.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "gateway/observe/cluster_map.h"
#include "gateway/observe/explanation.h"
#include "gateway/observe/queue_groups.h"
#include "gateway/observe/tap.h"
#include "json/slice.h"
#include "scheduler/config/config.h"
#include "scheduler/plugins/registry.h"

namespace berth::gateway {
namespace {

using ::testing::HasSubstr;

scheduler::SchedulerConfig scheduler_config() {
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  return scheduler::default_config(infos);
}

class ObserveCluster : public ::testing::Test {
 protected:
  ObserveCluster() {
    cluster::ClusterOptions options{.token_key = "key"};
    options.lab->nodes = 3;
    options.lab->heartbeat = lab::Heartbeat::kOnDemand;
    options.scheduler = scheduler_config();
    options.watch_scheduler = &tap;
    tap.listen([this](const BatchPtr& batch) {
      ++batches;
      for (const DecisionRecord& record : batch->decisions) decisions.push_back(record);
      queue.take(*batch);
      if (batch->map) map.take(*batch->map);
    });
    whole = std::make_unique<cluster::Cluster>(world, metrics,
                                               Logger(sink, world.clock(), LogLevel::kWarn),
                                               Random(1), std::move(options));
    whole->start([](const Result<Ok>& started) { EXPECT_TRUE(started); });
    world.run_for(1s);
    transport = whole->owner();
    scope = std::make_unique<Scope>(world.loop("user"), "user");
    api = std::make_unique<client::Api>(*scope, *transport, Random(1));
    world.run_for(10s);
  }
  ~ObserveCluster() override {
    scope->close(0s, [] {});
    world.run_for(1s);
    api.reset();
    scope.reset();
    whole->stop([] {});
    world.run_for(30s);
  }

  void watch(bool on) {
    whole->scheduler_loop().post([this, on] { tap.watch(on); });
    world.run_for(1s);
  }
  void create_pod(const std::string& name, const std::string& cpu, const std::string& more = "") {
    api->create(
        kube::kPod, "default",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]{}}}}})",
            name, cpu, more),
        scope->done<kube::Object>(60s, [](const Result<kube::Object>& created) {
          EXPECT_TRUE(created) << created.error().message;
        }));
    world.run_for(2s);
  }
  // "place name: cause" of what waits.
  std::vector<std::string> waiting() {
    const std::string text = queue.json();
    std::vector<std::string> all;
    for (const json::Slice group : json::Slice(text)["groups"].elements())
      all.push_back(fmt::format("{} {}: {}", group["place"].text(), group["name"].text(),
                                group["cause"].text()));
    return all;
  }
  json::Slice column(std::string_view name) {
    snapshot = map.snapshot_json();
    return json::Slice(snapshot)["columns"][name];
  }

  World world{1};
  StringSink sink;
  Metrics metrics;
  Tap tap;
  QueueGroups queue;
  ClusterMap map;
  std::vector<DecisionRecord> decisions;
  int batches = 0;
  std::string snapshot;
  std::unique_ptr<cluster::Cluster> whole;
  std::unique_ptr<client::Transport> transport;
  std::unique_ptr<Scope> scope;
  std::unique_ptr<client::Api> api;
};

TEST_F(ObserveCluster, EveryAttemptIsToldAlsoWhenNobodyWatches) {
  create_pod("small", "100m");
  create_pod("huge", "1000");
  ASSERT_GE(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].name, "small");
  EXPECT_EQ(decisions[0].outcome, DecisionRecord::Outcome::kPlaced);
  EXPECT_NE(decisions[0].node, "");
  EXPECT_EQ(decisions[0].fit, 3u);
  EXPECT_EQ(decisions[1].name, "huge");
  EXPECT_EQ(decisions[1].outcome, DecisionRecord::Outcome::kUnschedulable);
  EXPECT_THAT(decisions[1].message, HasSubstr("0/3 nodes are available: 3 Insufficient cpu"));
  ASSERT_EQ(decisions[1].rejected.size(), 1u);
  EXPECT_EQ(decisions[1].rejected[0], std::pair(std::string("NodeResourcesFit"), 3u));
  EXPECT_TRUE(map.empty()) << "the map costs nothing while nobody looks at it";
}

TEST_F(ObserveCluster, WhoBeginsToWatchSeesWhatWasThereBefore) {
  create_pod("huge", "1000");
  create_pod("held", "100m", R"(,"schedulingGates":[{"name":"example.com/later"}])");
  EXPECT_THAT(waiting(), ::testing::IsEmpty());
  watch(true);
  EXPECT_THAT(waiting(),
              ::testing::UnorderedElementsAre("unschedulable huge: Insufficient cpu on 3 nodes",
                                              "gated held: Gate example.com/later"));
  EXPECT_EQ(column("cpu").size(), 3u);
}

TEST_F(ObserveCluster, TheMapFollowsPodsThatComeAndGoAndNodesThatAreCordoned) {
  watch(true);
  EXPECT_EQ(column("cpuAsked").raw(), "[0,0,0]");
  create_pod("one", "1500m");
  EXPECT_THAT(std::string(column("cpuAsked").raw()), HasSubstr("1500"));
  api->erase(kube::kPod, {"default", "one"}, scope->done<Ok>(60s, [](const Result<Ok>&) {}));
  world.run_for(60s);
  EXPECT_EQ(column("cpuAsked").raw(), "[0,0,0]");
  api->patch(kube::kNode, {"", std::string(json::Slice(snapshot)["names"][std::size_t{0}].text())},
             R"({"spec":{"unschedulable":true}})", kube::PatchType::kMerge,
             scope->done<kube::Object>(
                 60s, [](const Result<kube::Object>& patched) { EXPECT_TRUE(patched); }));
  world.run_for(2s);
  EXPECT_EQ(column("state").raw(), "[4,0,0]");
}

TEST_F(ObserveCluster, NothingIsSentWhereNothingHappens) {
  watch(true);
  world.run_for(5s);
  watch(false);
  world.run_for(40s);
  const int before = batches;
  world.run_for(25s);
  EXPECT_LE(batches - before, 1) << "a sample of the queue's length, every 30 s";
}

TEST_F(ObserveCluster, APodThatWaitsIsGoneFromTheQueueWhenItIsDeleted) {
  watch(true);
  create_pod("huge", "1000");
  EXPECT_EQ(waiting().size(), 1u);
  api->erase(kube::kPod, {"default", "huge"}, scope->done<Ok>(60s, [](const Result<Ok>&) {}));
  world.run_for(5s);
  EXPECT_THAT(waiting(), ::testing::IsEmpty());
}

TEST_F(ObserveCluster, ASnapshotExplainsAWaitingPod) {
  create_pod("huge", "1000");
  const auto copy = tap.snapshot();
  ASSERT_NE(copy, nullptr);
  std::optional<kube::Object> pod;
  api->get(kube::kPod, {"default", "huge"},
           scope->done<kube::Object>(60s, [&](Result<kube::Object> got) {
             ASSERT_TRUE(got);
             pod = *std::move(got);
           }));
  world.run_for(1s);
  ASSERT_TRUE(pod.has_value());
  const std::vector<scheduler::ProfileSpec> profiles{scheduler_config().profiles.front().spec};
  const Result<std::string> said = explain({*copy, *pod, profiles, decisions});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(json::Slice(*said)["outcome"].text(), "nowhere");
  EXPECT_EQ(json::Slice(*said)["changes"][std::size_t{0}]["kind"].text(), "ask-less");
}

}  // namespace
}  // namespace berth::gateway
