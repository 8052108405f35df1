// SPDX-License-Identifier: Apache-2.0
// An embedded cluster: API server, simulated nodes, controllers and scheduler, each on a loop of
// its own, talking to the server without sockets. On a World all of it is deterministic; on real
// loops it is what `berth up` runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/runtime.h"
#include "client/transport.h"
#include "controllers/batchjob/job_kind.h"
#include "kube/api.h"
#include "lab/lab.h"
#include "scheduler/config/config.h"

namespace berth::lab {
class UsageRules;
}
namespace berth::apiserver {
class KindRegistry;
class Server;
class Store;
class WebhookCaller;
struct Credentials;
struct HistoryEvent;
}  // namespace berth::apiserver

namespace berth::scheduler {
class SchedulerObserver;
}

namespace berth::cluster {

class OwnWebhooks;

struct ClusterOptions {
  std::optional<std::filesystem::path> data_dir = {};  // none: nothing survives
  bool fsync = false;
  bool salvage = false;          // start with what is intact of damaged data
  std::string token_key = {};    // signs service account tokens
  std::string owner_token = {};  // whose bearer may do everything; "": there is none
  std::string ca_pem = {};       // published in every namespace
  std::optional<scheduler::SchedulerConfig> scheduler = {};  // none: pods wait for another one
  // Makes the way to webhooks, on the API loop; null: only those in this process are reached.
  std::function<std::unique_ptr<apiserver::WebhookCaller>(Scope&, const apiserver::Store&)>
      webhooks = {};
  // Told every published change, in order, on the API loop; must not call anything of the cluster.
  std::function<void(const apiserver::HistoryEvent&)> observe = {};
  // Told what the scheduler does, on its loop; outlives the cluster.
  scheduler::SchedulerObserver* watch_scheduler = nullptr;
  std::vector<std::string> controllers = {"*"};      // as --controllers; none: none
  std::vector<controllers::JobKind> job_kinds = {};  // besides those that are built in
  controllers::ExecutorOptions executors = {};       // of BatchJobs
  // "http://127.0.0.1:8080", its gateway, of which pods are told; "" while there is none. Asked on
  // the controllers' loop; null: there never is.
  std::function<std::string()> gateway = {};
  std::optional<lab::LabOptions> lab = lab::LabOptions();  // none: no simulated nodes
  bool nodes_once = false;  // `lab.nodes` are those of a new cluster; any other has its own
  std::shared_ptr<const lab::UsageRules> usage = {};  // of simulated containers
  bool default_storage = false;  // a new cluster has a class for claims that name none
  // In virtual time: runs the task on the API loop as soon as nothing is left to do.
  std::function<std::shared_ptr<void>(Task)> when_idle = {};
};

// Made, started and stopped on any thread; what it consists of lives on the runtime's loops "api",
// "controllers", "scheduler", "disk" and "checkpoints".
class Cluster {
 public:
  // `runtime` and `metrics` outlive it.
  Cluster(Runtime& runtime, Metrics& metrics, Logger log, Random random, ClusterOptions);
  ~Cluster();  // must be stopped
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // `ready` is called on the API loop once requests are answered, or with the reason why not. The
  // nodes, the controllers and the scheduler begin right after.
  void start(std::function<void(Result<Ok>)> ready);
  // Nothing of it runs any more when `stopped` is called, on the API loop.
  void stop(Task stopped);

  Executor& api_loop();
  // Once ready, on the API loop: the place where others reach it, which it tells them.
  void reached_at(const std::string& address, std::uint16_t port);
  Executor& scheduler_loop();
  // Once ready, and on the API loop only: the webhooks that this process answers itself.
  OwnWebhooks& own_webhooks();
  // Once ready, and on the API loop only.
  apiserver::Server& server();
  // A request from outside, whose user is not known yet.
  void handle(apiserver::Credentials, kube::ApiRequest, Done<kube::ApiReply>);
  lab::Lab* lab();
  const apiserver::KindRegistry& kinds();  // any thread
  // The way in for this process: a user who may do everything. Any thread, once ready.
  std::unique_ptr<client::Transport> owner();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cluster
