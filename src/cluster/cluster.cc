// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <algorithm>

#include "base/check.h"
#include "client/local_transport.h"
#include "cluster/api_side.h"
#include "cluster/first_objects.h"
#include "cluster/placed.h"
#include "controllers/node_lifecycle/heartbeats.h"
#include "controllers/registry.h"
#include "controllers/scavenger_metrics.h"
#include "controllers/slots_metrics.h"
#include "runtime/home.h"
#include "scheduler/doors/reclaimer.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/app.h"

namespace berth::cluster {
namespace {

kube::User component(std::string name) {
  return {.name = std::move(name), .groups = {"system:authenticated"}, .inside = true};
}

// What the simulated nodes know of themselves, for whoever judges them.
class LabHeartbeats final : public controllers::Heartbeats {
 public:
  explicit LabHeartbeats(std::shared_ptr<lab::Silence> silence) : silence_(std::move(silence)) {}
  std::optional<WallTime> silent_since(const std::string& node) const override {
    return silence_->since(node);
  }
  void subscribe(std::function<void(const std::string&)> changed) override {
    silence_->subscribe(std::move(changed));
  }

 private:
  std::shared_ptr<lab::Silence> silence_;
};

}  // namespace

struct Cluster::Parts {
  Parts(Runtime& places, Metrics& shared, Logger to, Random chance, ClusterOptions given)
      : runtime(places),
        metrics(shared),
        log(std::move(to)),
        random(chance),
        options(std::move(given)),
        api(places.loop("api")),
        controllers(places.loop("controllers")),
        reclaimer(places.loop("controllers")),
        scheduler(places.loop("scheduler")) {}

  void start_controllers();
  void start_scheduler();
  client::Transport& transport_of(const kube::User&);

  Runtime& runtime;
  Metrics& metrics;
  Logger log;
  Random random;
  ClusterOptions options;
  std::vector<std::unique_ptr<client::Transport>> transports;  // made on the API loop
  std::unique_ptr<controllers::Heartbeats> heartbeats;
  Placed<ApiSide> api;
  Placed<runtime::Home> controllers;
  Placed<scheduler::Reclaimer> reclaimer;
  Placed<scheduler::App> scheduler;
};

client::Transport& Cluster::Parts::transport_of(const kube::User& user) {
  transports.push_back(
      std::make_unique<client::LocalTransport>(api.loop(), api.get()->server(), user));
  return *transports.back();
}

void Cluster::Parts::start_controllers() {
  if (lab::Lab* const lab = api.get()->lab(); lab != nullptr && lab->options().every_node)
    heartbeats = std::make_unique<LabHeartbeats>(lab->silence());
  auto wanted = controllers::make_controllers(options.controllers, {.root_ca = options.ca_pem,
                                                                    .heartbeats = heartbeats.get(),
                                                                    .job_kinds = options.job_kinds,
                                                                    .executors = options.executors,
                                                                    .gateway = options.gateway});
  BERTH_CHECK(wanted.has_value(), "the list of controllers was checked before");
  if (wanted->empty()) return;
  runtime::HomeOptions home{.instance = "berth"};
  // Each acts under the name that kube-controller-manager would use for it, and with its rights.
  std::map<std::string, client::Transport*> own;
  for (const auto& controller : *wanted) {
    const std::string name = controller->spec().name();
    own[name] = &transport_of(component(controller_user(name)));
  }
  home.calls_as = [own](const runtime::Spec& spec) -> client::Transport& {
    return *own.at(spec.name());
  };
  home.observers = {std::make_shared<controllers::ScavengerMetrics>(metrics),
                    std::make_shared<controllers::SlotsMetrics>(metrics)};
  const std::vector<std::string> ours =
      controllers::names_of(controllers::Registration::Whose::kBerth);
  if (std::any_of(ours.begin(), ours.end(),
                  [&](const std::string& name) { return own.count(name) > 0; })) {
    client::Transport& reclaims = transport_of(component(controller_user(kReclaimer)));
    reclaimer.make("reclaim", [this, &reclaims](Scope& scope) {
      auto it = std::make_unique<scheduler::Reclaimer>(
          scope, reclaims, metrics, log, random.fork("reclaim"), scheduler::default_profile());
      it->start();
      return it;
    });
  }
  client::Transport& shared = transport_of(component("system:kube-controller-manager"));
  auto made =
      std::make_shared<std::vector<std::unique_ptr<runtime::Controller>>>(*std::move(wanted));
  controllers.make("controllers", [this, &shared, home, made](Scope& scope) {
    auto it = std::make_unique<runtime::Home>(scope, shared, metrics, log,
                                              random.fork("controllers"), std::move(*made), home);
    it->start();
    return it;
  });
}

void Cluster::Parts::start_scheduler() {
  client::Transport& transport = transport_of(component("system:kube-scheduler"));
  scheduler.make("scheduler", [this, &transport](Scope& scope) {
    scheduler::AppOptions app{.config = *options.scheduler, .identity = "berth"};
    app.config.leader_election.leader_elect = false;  // nobody else is there
    app.config.client_connection.qps = -1;            // and nobody has to be spared
    app.observer = options.watch_scheduler;
    auto it = std::make_unique<scheduler::App>(
        scope, transport, metrics, log, random.fork("scheduler"), scheduler::all_plugins(),
        std::move(app), [this](const Error& error) {
          log.error("the scheduler cannot go on", {{"error", error}});
        });
    it->start();
    return it;
  });
}

Cluster::Cluster(Runtime& runtime, Metrics& metrics, Logger log, Random random,
                 ClusterOptions options)
    : parts_(
          std::make_unique<Parts>(runtime, metrics, std::move(log), random, std::move(options))) {}

Cluster::~Cluster() = default;

void Cluster::start(std::function<void(Result<Ok>)> ready) {
  Parts& parts = *parts_;
  parts.api.make("api", [&parts](Scope& scope) {
    return std::make_unique<ApiSide>(scope, parts.runtime, parts.metrics, parts.log, parts.random,
                                     parts.options);
  });
  parts.api.loop().post([&parts, ready = std::move(ready)] {
    parts.api.get()->start([&parts, ready](Result<Ok> started) {
      const bool good = started.has_value();
      ready(std::move(started));
      if (!good) return;
      parts.api.get()->start_lab();
      parts.start_controllers();
      if (parts.options.scheduler) parts.start_scheduler();
    });
  });
}

void Cluster::stop(Task stopped) {
  Parts& parts = *parts_;
  parts.scheduler.stop([&parts, stopped = std::move(stopped)]() mutable {
    parts.reclaimer.stop([&parts, stopped = std::move(stopped)]() mutable {
      parts.controllers.stop(
          [&parts, stopped = std::move(stopped)]() mutable { parts.api.stop(std::move(stopped)); });
    });
  });
}

Executor& Cluster::api_loop() { return parts_->api.loop(); }
void Cluster::reached_at(const std::string& address, std::uint16_t port) {
  parts_->api.get()->reached_at(address, port);
}
OwnWebhooks& Cluster::own_webhooks() { return parts_->api.get()->own_webhooks(); }
Executor& Cluster::scheduler_loop() { return parts_->scheduler.loop(); }
apiserver::Server& Cluster::server() { return parts_->api.get()->server(); }
const apiserver::KindRegistry& Cluster::kinds() { return server().kinds(); }
void Cluster::handle(apiserver::Credentials credentials, kube::ApiRequest request,
                     Done<kube::ApiReply> done) {
  server().handle(std::move(credentials), std::move(request), std::move(done));
}
lab::Lab* Cluster::lab() { return parts_->api.get()->lab(); }

std::unique_ptr<client::Transport> Cluster::owner() {
  return std::make_unique<client::LocalTransport>(api_loop(), server(), owner_of_cluster());
}

}  // namespace berth::cluster
