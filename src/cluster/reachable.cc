// SPDX-License-Identifier: Apache-2.0
#include "cluster/reachable.h"

#include <future>

#include <fmt/format.h>

#include "apiserver/http/door.h"
#include "apiserver/serve/server.h"
#include "apiserver/webhooks_http/http_webhook_caller.h"
#include "cluster/kept_time.h"
#include "cluster/own_webhooks.h"
#include "cluster/placed.h"
#include "controllers/admission/door.h"
#include "controllers/admission/make_certificate.h"
#include "net/http_server.h"

namespace berth::cluster {
namespace {

namespace fs = std::filesystem;

void run_there(Executor& loop, const std::function<void()>& what) {
  std::promise<void> done;
  loop.post([&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

void wait_for(const std::function<void(Task)>& what) {
  std::promise<void> done;
  what([&] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace

struct ReachableCluster::Parts {
  Parts(Runtime& runtime, Metrics& shared, Logger to, ReachableOptions given)
      : real(runtime),
        metrics(shared),
        log(std::move(to)),
        options(std::move(given)),
        door(runtime.loop("io0")) {}

  bool virtual_time() const { return options.speed.mode != Speed::Mode::kReal; }
  Executor& home() { return real.loop(virtual_time() ? "world" : "api"); }
  Result<Ok> build();
  fs::path time_file() const { return *options.cluster.data_dir / "time"; }
  Result<std::string> open();
  Result<Ok> answer_webhooks();

  Runtime& real;
  Metrics& metrics;
  Logger log;
  ReachableOptions options;
  std::unique_ptr<PacedWorld> world;       // where time is virtual
  std::unique_ptr<TimeKeeper> timekeeper;  // there, if anything is kept
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Executor> gate, scheduler_gate;  // into the world
  bool answering = false;
  Placed<apiserver::Door> door;
  std::unique_ptr<net::HttpServer> server;
  // In real time: where this process answers its own webhooks.
  std::unique_ptr<controllers::AdmissionDoor> admission;
  std::unique_ptr<net::HttpServer> admission_server;
};

Result<Ok> ReachableCluster::Parts::build() {
  Runtime* places = &real;
  ClusterOptions parts = options.cluster;
  if (virtual_time()) {
    const Result<WallTime> kept = parts.data_dir ? kept_time(time_file()) : WallTime{};
    if (!kept) return tl::unexpected(kept.error());
    world = std::make_unique<PacedWorld>(home(), options.speed, options.seed, *kept, [this] {
      // Whoever waits for time to pass does not hold it up.
      return answering && cluster->server().open_requests() > world->waiting();
    });
    parts.when_idle = [this](Task then) { return world->when_idle(std::move(then)); };
    places = &world->world();
  } else {
    // A socket knows nothing of virtual time; there webhooks are not called.
    parts.webhooks = [this](Scope& scope, const apiserver::Store& store) {
      return std::make_unique<apiserver::HttpWebhookCaller>(scope, real.loop("io1"), store);
    };
  }
  cluster =
      std::make_unique<Cluster>(*places, metrics, log, Random(options.seed), std::move(parts));
  if (world) {
    gate = world->enter(cluster->api_loop());
    scheduler_gate = world->enter(cluster->scheduler_loop());
  }
  return Ok{};
}

// Made anew at every start, like the server's own certificate, for as long as that may run.
Result<Ok> ReachableCluster::Parts::answer_webhooks() {
  if (!cluster->own_webhooks().wanted()) return Ok{};
  admission::WebhookPlace place{.url = "https://127.0.0.1"};
  const auto fresh = controllers::make_certificate(place, std::chrono::hours(24 * 3650));
  if (!fresh) return tl::unexpected(fresh.error());
  admission = std::make_unique<controllers::AdmissionDoor>(
      cluster->api_loop(), [this] { return cluster->own_webhooks().surroundings(); }, metrics);
  net::HttpServerOptions http = controllers::AdmissionDoor::server_options();
  http.tls = net::TlsServerOptions{.certificate_pem = fresh->certificate, .key_pem = fresh->key};
  auto listening = net::HttpServer::start(real.loop("io1"), std::move(http), *admission);
  if (!listening) return tl::unexpected(listening.error());
  admission_server = *std::move(listening);
  place.url = fmt::format("https://127.0.0.1:{}", admission_server->port());
  place.ca_bundle = fresh->authority;
  cluster->own_webhooks().answered_at(std::move(place));
  return Ok{};
}

Result<std::string> ReachableCluster::Parts::open() {
  answering = true;
  if (world && options.cluster.data_dir)
    timekeeper = std::make_unique<TimeKeeper>(home(), world->clock(), time_file(), log);
  if (!virtual_time())
    if (Result<Ok> answered = answer_webhooks(); !answered) return tl::unexpected(answered.error());
  door.make("door", [this](Scope& scope) {
    return std::make_unique<apiserver::Door>(
        scope, gate ? *gate : cluster->api_loop(),
        [this](auto credentials, auto request, auto done) {
          cluster->handle(std::move(credentials), std::move(request), std::move(done));
        },
        cluster->kinds(), Random::from_entropy(),
        apiserver::DoorOptions{.streams_through_api = gate != nullptr, .metrics = &metrics});
  });
  net::HttpServerOptions http;
  run_there(door.loop(), [&] { http = door.get()->server_options(); });
  http.address = options.address;
  http.port = options.port;
  http.tls = net::TlsServerOptions{.certificate_pem = options.identity.server.certificate_pem,
                                   .key_pem = options.identity.server.key_pem,
                                   .client_ca_pem = options.identity.authority.certificate_pem};
  auto listening = net::HttpServer::start(door.loop(), std::move(http), *door.get());
  if (!listening) return tl::unexpected(listening.error());
  server = *std::move(listening);
  const std::string& address = options.advertised.empty() ? options.address : options.advertised;
  cluster->reached_at(address, server->port());
  return fmt::format("https://{}:{}", address, server->port());
}

ReachableCluster::ReachableCluster(Runtime& real, Metrics& metrics, Logger log,
                                   ReachableOptions options)
    : parts_(std::make_unique<Parts>(real, metrics, std::move(log), std::move(options))) {}

void ReachableCluster::start(std::function<void(Result<std::string>)> ready) {
  run_there(parts_->home(), [this, ready = std::move(ready)] {
    if (Result<Ok> built = parts_->build(); !built) return ready(tl::unexpected(built.error()));
    parts_->cluster->start([parts = parts_.get(), ready](const Result<Ok>& started) {
      if (!started) return ready(tl::unexpected(started.error()));
      ready(parts->open());
    });
    if (parts_->world) parts_->world->start();
  });
}

std::unique_ptr<client::Transport> ReachableCluster::owner() {
  return parts_->virtual_time() ? nullptr : parts_->cluster->owner();
}

std::shared_ptr<const Clock> ReachableCluster::clock() const {
  return parts_->world ? parts_->world->clock() : nullptr;
}

Executor& ReachableCluster::scheduler_loop() {
  return parts_->scheduler_gate ? *parts_->scheduler_gate : parts_->cluster->scheduler_loop();
}

ReachableCluster::~ReachableCluster() {
  if (parts_->cluster == nullptr) return;
  parts_->server.reset();
  parts_->admission_server.reset();
  wait_for([this](Task stopped) { parts_->door.stop(std::move(stopped)); });
  wait_for([this](Task stopped) {
    parts_->home().post([this, stopped = std::move(stopped)]() mutable {
      parts_->answering = false;  // from now on there is no server that could be asked
      parts_->cluster->stop(std::move(stopped));
      if (parts_->world) parts_->world->wake();
    });
  });
  run_there(parts_->home(), [this] {
    parts_->timekeeper.reset();
    parts_->cluster.reset();
    parts_->gate.reset();
    parts_->scheduler_gate.reset();
    parts_->world.reset();
  });
}

}  // namespace berth::cluster
