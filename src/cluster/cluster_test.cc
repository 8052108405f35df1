// SPDX-License-Identifier: Apache-2.0
// The whole cluster in virtual time: nothing of it knows that no real second passes.
#include "cluster/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/server.h"
#include "apiserver/store/table.h"
#include "base/world.h"
#include "client/api.h"
#include "controllers/pods.h"
#include "scheduler/config/config.h"
#include "scheduler/plugins/registry.h"

namespace berth::cluster {
namespace {

scheduler::SchedulerConfig scheduler_config() {
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  return scheduler::default_config(infos);
}

// A cluster in a world of its own, and somebody who may do everything there.
class Lab {
 public:
  explicit Lab(std::size_t nodes, Seed seed = 1, bool scheduler = true) : world(seed) {
    ClusterOptions options{.token_key = "key"};
    options.lab->nodes = nodes;
    options.lab->heartbeat = lab::Heartbeat::kOnDemand;
    if (scheduler) options.scheduler = scheduler_config();
    options.observe = [this](const apiserver::HistoryEvent& event) {
      for (const std::string_view part : event.after.json_parts()) log += part;
      log += event.deleted ? " gone\n" : "\n";
    };
    cluster =
        std::make_unique<Cluster>(world, metrics, Logger(sink, world.clock(), LogLevel::kWarn),
                                  Random(seed), std::move(options));
    bool ready = false;
    cluster->start([&](const Result<Ok>& started) {
      EXPECT_TRUE(started) << started.error().message;
      ready = true;
    });
    world.run_for(1s);
    EXPECT_TRUE(ready);
    transport = cluster->owner();
    scope = std::make_unique<Scope>(world.loop("user"), "user");
    api = std::make_unique<client::Api>(*scope, *transport, Random(seed));
    world.run_for(10s);
  }
  ~Lab() {
    bool stopped = false;
    scope->close(0s, [] {});
    world.run_for(1s);
    api.reset();
    scope.reset();
    cluster->stop([&] { stopped = true; });
    world.run_for(30s);
    EXPECT_TRUE(stopped);
    EXPECT_EQ(sink.text(), "");
  }

  void create(const std::string& json) {
    const auto object = kube::Object::parse(json);
    ASSERT_TRUE(object) << object.error().message;
    const std::string ns(object->ns());
    api->create(object->kind(), ns, json,
                scope->done<kube::Object>(60s, [](const Result<kube::Object>& created) {
                  EXPECT_TRUE(created) << created.error().message;
                }));
    world.run_for(10ms);
  }
  std::vector<kube::Object> list(kube::KindId kind) {
    std::vector<kube::Object> all;
    api->list_all(kind, "", {}, scope->done<kube::ObjectList>(60s, [&](auto page) {
      ASSERT_TRUE(page) << page.error().message;
      all = std::move(page->items);
    }));
    world.run_for(100ms);
    return all;
  }
  std::size_t count(kube::KindId kind, const std::function<bool(const kube::Object&)>& which) {
    std::size_t found = 0;
    for (const kube::Object& object : list(kind)) found += which(object) ? 1 : 0;
    return found;
  }

  World world;
  std::string log;  // every change, in order
  StringSink sink;
  Metrics metrics;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<client::Transport> transport;
  std::unique_ptr<Scope> scope;
  std::unique_ptr<client::Api> api;
};

std::string job_json(const std::string& name, int pods, std::string_view duration) {
  return fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"completions":{},"parallelism":{},"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"{}"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}}}}})",
      name, pods, pods, duration);
}

std::string deployment_json(const std::string& name, int replicas) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{0}","namespace":"default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":{{"app":"{0}"}}}},"template":{{"metadata":{{"labels":{{"app":"{0}"}}}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}}}})",
      name, replicas);
}

bool running(const kube::Object& pod) { return pod.status()["phase"].equals("Running"); }
bool complete(const kube::Object& job) {
  return job.status()["succeeded"].integer() == job.member("spec")["completions"].integer();
}

TEST(Cluster, RunsADeploymentAndAJob) {
  Lab lab(3);
  EXPECT_EQ(lab.list(kube::kNode).size(), 3u);
  lab.create(deployment_json("web", 5));
  lab.create(job_json("sum", 2, "30s"));
  lab.world.run_for(2min);
  EXPECT_EQ(lab.count(kube::kPod, running), 5u);
  EXPECT_EQ(lab.count(kube::kJob, complete), 1u);
}

TEST(Cluster, ReplacesThePodsOfANodeThatIsLost) {
  Lab lab(3);
  lab.create(deployment_json("web", 6));
  lab.world.run_for(1min);
  ASSERT_EQ(lab.count(kube::kPod, running), 6u);
  const auto on_node_0 = [](const kube::Object& pod) {
    return running(pod) && !pod.deleting() && pod.member("spec")["nodeName"].equals("node-0");
  };
  ASSERT_GT(lab.count(kube::kPod, on_node_0), 0u);
  ASSERT_TRUE(lab.cluster->lab()->fail_node("node-0"));
  lab.world.run_for(15min);
  EXPECT_EQ(lab.count(kube::kPod, on_node_0), 0u);
  EXPECT_EQ(lab.count(kube::kPod, [](const auto& pod) { return running(pod) && !pod.deleting(); }),
            6u);
}

TEST(Cluster, LetsOnlyItsMastersIntoTheLab) {
  Lab lab(3);
  const auto post = [&](std::string user, std::string path) {
    kube::ApiRequest request{.verb = kube::Verb::kRaw};
    request.raw_method = "POST";
    request.raw_path = std::move(path);
    request.user = {.name = std::move(user), .groups = {"system:authenticated"}};
    if (request.user.name == "admin") request.user.groups.emplace_back("system:masters");
    std::string said = "not answered";
    lab.cluster->server().handle(
        std::move(request), lab.scope->done<kube::ApiReply>(1h, [&](auto reply) {
          said = reply ? std::get<std::string>(reply->body) : reply.error().message;
        }));
    lab.world.run_for(5s);
    return said;
  };
  EXPECT_EQ(post("jane", "/lab/crash-node/node-0"),
            R"(forbidden: User "jane" cannot post path "/lab/crash-node/node-0")");
  EXPECT_TRUE(lab.cluster->lab()->troubles().empty());
  EXPECT_EQ(post("admin", "/lab/crash-node/node-0"), R"({"message":"node-0 has crashed"})");
  EXPECT_EQ(lab.cluster->lab()->troubles().size(), 1u);
  lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"breaker"},"rules":[{"nonResourceURLs":["/lab/*"],"verbs":["post"]}]})");
  lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"breaker"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"breaker"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
  EXPECT_EQ(post("jane", "/lab/recover"), R"({"message":"all is well"})");
  EXPECT_TRUE(lab.cluster->lab()->troubles().empty());
  EXPECT_EQ(post("jane", "/lab/settle"), R"({"message":"idle"})");
}

TEST(Cluster, TakesWhatADeletedNamespaceHeldWithIt) {
  Lab lab(2);
  lab.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}})");
  lab.world.run_for(5s);
  lab.create(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"}})");
  lab.api->erase(kube::kNamespace, {"", "shop"},
                 lab.scope->done<Ok>(60s, [](const auto& done) { EXPECT_TRUE(done); }));
  lab.world.run_for(2min);
  EXPECT_EQ(lab.count(kube::kNamespace, [](const auto& ns) { return ns.name() == "shop"; }), 0u);
  EXPECT_EQ(lab.count(kube::kConfigMap, [](const auto& map) { return map.ns() == "shop"; }), 0u);
}

// A day's worth of small jobs, arriving by chance.
std::string history_of(Seed seed, std::size_t nodes, int jobs, Duration over) {
  Lab lab(nodes, seed);
  Random random = Random(seed).fork("arrivals");
  const auto gap = over / jobs;
  for (int i = 0; i < jobs; ++i) {
    lab.create(job_json(fmt::format("job-{:05}", i), 1 + static_cast<int>(random.below(3)),
                        fmt::format("{}s", 10 + random.below(600))));
    lab.world.run_for(
        Duration(static_cast<Duration::rep>(random.unit() * 2 * static_cast<double>(gap.count()))));
  }
  lab.world.run_for(1h);
  EXPECT_EQ(lab.count(kube::kJob, complete), static_cast<std::size_t>(jobs));
  return std::move(lab.log);
}

TEST(Cluster, HasTheSameHistoryForTheSameSeed) {
  const std::string first = history_of(7, 10, 20, 2h);
  EXPECT_GT(first.size(), 100'000u);
  EXPECT_EQ(first, history_of(7, 10, 20, 2h));
  EXPECT_NE(first, history_of(8, 10, 20, 2h));
}

}  // namespace
}  // namespace berth::cluster
