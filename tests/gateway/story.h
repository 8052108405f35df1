// SPDX-License-Identifier: Apache-2.0
// A gateway in front of an embedded cluster, in virtual time: callers with tokens that the cluster
// itself has given out, and objects that are written past the gateway.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/world.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "gateway/service.h"
#include "net/fake_client_for_test.h"

namespace berth::gateway {

// Of the cluster behind it: what the stories need none of.
struct StoryCluster {
  std::size_t nodes = 0;  // with nodes there are controllers and a scheduler, too
  std::function<void(const apiserver::HistoryEvent&)> observe = {};
};

class Story {
 public:
  explicit Story(ServiceOptions options = {}, StoryCluster behind = {});
  ~Story();

  // Past the gateway, as the cluster's owner.
  kube::Object create(std::string_view json);  // has apiVersion and kind
  kube::Object patch_status(Topic, std::string_view name, std::string merge_patch);
  void erase(Topic, std::string_view name);
  std::optional<kube::Object> get(Topic, std::string_view name, std::string_view ns = "default");
  // A service account's token; it may do what `rules` say, in the namespace default.
  std::string account(std::string_view name, std::string_view rules);

  void testbed(std::string_view name);
  void job(std::string_view name, std::string_view ns = "default");

  // Through the gateway. What is begun has not been answered yet, nor heard of.
  using Client = std::shared_ptr<net::FakeClient>;
  Client begin(std::string method, std::string target, std::string body = "",
               std::vector<std::pair<std::string, std::string>> headers = {});
  Client send(std::string method, std::string target, std::string body = "",
              std::vector<std::pair<std::string, std::string>> headers = {});
  Client get(std::string target) { return send("GET", std::move(target)); }
  Client open(std::string target, std::string protocols = "v12.stomp");  // a WebSocket

  void pass(Duration time = 100ms) { world.run_for(time); }

  World world{Seed{1}};
  std::string token = "owners";  // "": none
  bool compat = false;
  StringSink log;
  Metrics metrics;
  std::unique_ptr<cluster::Cluster> cluster;
  std::unique_ptr<client::Transport> transport;
  Executor& loop = world.loop("gateway");
  Scope scope{loop, "gateway"};
  std::unique_ptr<client::Api> api;
  std::unique_ptr<Service> service;
};

// The bytes of a STOMP frame; the body is as long as it is.
std::string stomp(std::string_view command,
                  const std::vector<std::pair<std::string, std::string>>& headers,
                  std::string body = "");

}  // namespace berth::gateway
