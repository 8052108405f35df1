// SPDX-License-Identifier: Apache-2.0
#include "cli/running_gateway.h"

#include <future>

#include "client/api.h"
#include "cluster/placed.h"
#include "gateway/page/mount.h"
#include "gateway/scavenge/checkpoint_door.h"
#include "gateway/scavenge/scavengers.h"

namespace berth::cli {

namespace {

// What lives on the gateway's loop; the routes go before what they lead to.
struct Housed {
  std::shared_ptr<void> also;
  std::unique_ptr<client::Api> writes;
  std::unique_ptr<gateway::CheckpointDoor> checkpoints;
  std::unique_ptr<gateway::Scavengers> scavengers;
  std::unique_ptr<gateway::Service> service;
};

}  // namespace

struct RunningGateway::Parts {
  Parts(Runtime& runtime, client::Transport& way, Metrics& shared, Logger to, GatewayPlan given)
      : transport(way),
        metrics(shared),
        log(std::move(to)),
        plan(std::move(given)),
        loop(runtime.loop("gateway")),
        service(plan.home ? *plan.home : loop) {
    plan.service.runtime = &runtime;
  }

  client::Transport& transport;
  Metrics& metrics;
  Logger log;
  GatewayPlan plan;
  Executor& loop;  // with sockets
  cluster::Placed<Housed> service;
  std::vector<std::unique_ptr<net::HttpServer>> servers;
};

RunningGateway::RunningGateway(Runtime& runtime, client::Transport& transport, Metrics& metrics,
                               Logger log, GatewayPlan plan)
    : parts_(
          std::make_unique<Parts>(runtime, transport, metrics, std::move(log), std::move(plan))) {}

Result<RunningGateway::Ports> RunningGateway::start() {
  Parts& parts = *parts_;
  parts.service.make("gateway", [&parts](Scope& scope) {
    auto housed = std::make_unique<Housed>();
    housed->service =
        std::make_unique<gateway::Service>(scope, parts.transport, parts.metrics, parts.log,
                                           Random::from_entropy(), parts.plan.service);
    gateway::Gateway& gateway = housed->service->gateway();
    gateway::mount_page(gateway.routes());
    const Random random = Random::from_entropy();
    housed->writes = std::make_unique<client::Api>(scope, parts.transport, random.fork("writes"));
    housed->checkpoints =
        std::make_unique<gateway::CheckpointDoor>(scope, *housed->writes, gateway.auth());
    housed->checkpoints->mount(gateway.routes());
    housed->scavengers =
        std::make_unique<gateway::Scavengers>(scope, parts.transport, random.fork("scavengers"),
                                              parts.metrics, parts.plan.service.runtime);
    housed->scavengers->mount(gateway.routes());
    if (parts.plan.also) housed->also = parts.plan.also(scope, gateway, *housed->scavengers);
    housed->service->start();
    housed->scavengers->start();
    return housed;
  });
  struct Doors {
    net::HttpServerOptions options;
    net::HttpHandler* main;
    net::HttpHandler* compat;
  };
  std::promise<Doors> made;
  parts.service.loop().post([&] {
    gateway::Gateway& gateway = parts.service.get()->service->gateway();
    made.set_value({gateway.server_options(), &gateway.door(), gateway.compat_door()});
  });
  const Doors doors = made.get_future().get();
  net::HttpServerOptions options = doors.options;
  options.address = parts.plan.address;
  options.port = parts.plan.port;
  options.tls = parts.plan.tls;
  auto main = net::HttpServer::start(parts.loop, std::move(options), *doors.main);
  if (!main) return tl::unexpected(main.error());
  Ports ports{.main = (*main)->port()};
  parts.servers.push_back(*std::move(main));
  if (doors.compat == nullptr) return ports;
  net::HttpServerOptions near = doors.options;
  near.port = parts.plan.compat_port;
  auto compat = net::HttpServer::start(parts.loop, std::move(near), *doors.compat);
  if (!compat) return tl::unexpected(compat.error());
  ports.compat = (*compat)->port();
  parts.servers.push_back(*std::move(compat));
  return ports;
}

RunningGateway::~RunningGateway() {
  parts_->servers.clear();
  std::promise<void> stopped;
  parts_->service.stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
}

}  // namespace berth::cli
