// SPDX-License-Identifier: Apache-2.0
// A whole cluster in virtual time, and what tests say of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/store/table.h"
#include "base/world.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "scheduler/config/config.h"
#include "scheduler/plugins/registry.h"

namespace berth::cluster {

inline scheduler::SchedulerConfig scheduler_config() {
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  return scheduler::default_config(infos);
}

// A cluster in a world of its own, and somebody who may do everything there.
class Lab {
 public:
  explicit Lab(std::size_t nodes, Seed seed = 1, bool schedules = true,
               ClusterOptions options = {.token_key = "key"})
      : world(seed) {
    options.lab->nodes = nodes;
    options.lab->heartbeat = lab::Heartbeat::kOnDemand;
    if (schedules) {
      options.scheduler = scheduler_config();
      for (scheduler::ProfileConfig& profile : options.scheduler->profiles)
        scheduler::enable_slots(profile.spec);
    }
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

  void create(const std::string& json, const std::string& otherwise_in = "") {
    const auto object = kube::Object::parse(json);
    ASSERT_TRUE(object) << object.error().message;
    const std::string ns(object->ns().empty() ? otherwise_in : std::string(object->ns()));
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

inline std::string job_json(const std::string& name, int pods, std::string_view duration) {
  return fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"completions":{},"parallelism":{},"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"{}"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}}}}})",
      name, pods, pods, duration);
}

inline bool running(const kube::Object& pod) { return pod.status()["phase"].equals("Running"); }

}  // namespace berth::cluster
