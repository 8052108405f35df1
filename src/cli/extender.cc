// SPDX-License-Identifier: Apache-2.0
// berth extender: lets a stock kube-scheduler place executors in the slots of Testbeds, and
// interrupt the scavenger jobs that lose the least work.
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/listener.h"
#include "cli/on_loop.h"
#include "client/connect.h"
#include "gateway/extender/extender_service.h"
#include "json/yaml.h"
#include "runtime/scavenge/roles.h"
#include "runtime/slots/roles.h"
#include "runtime/slots/scheduler_side.h"

namespace berth::cli {
namespace {

struct ExtenderFlags {
  ListenerFlags listener{.port = 9443};
  std::string print;
  runtime::SchedulerSide side;
  std::string log_level = "info";
};

// Everything that lives as long as the command.
struct Running {
  Running(Scope& scope, std::unique_ptr<client::Cluster> to, Logger log)
      : cluster(std::move(to)),
        service(scope, *cluster->transport, metrics, std::move(log), Random::from_entropy()) {}
  Metrics metrics;
  std::unique_ptr<client::Cluster> cluster;
  gateway::ExtenderService service;
  std::unique_ptr<net::HttpServer> server;
};

Result<int> print(const ExtenderFlags& flags, Context& context) {
  if (flags.print == "scheduler-config") {
    context.out << runtime::kube_scheduler_config(flags.side);
    return kExitOk;
  }
  const char* between = "";
  std::vector<std::string> documents =
      runtime::door_role(runtime::Door::kExtender, "berth-extender", "berth-system:berth-extender");
  for (std::string& document :
       runtime::scavenger_door_role(runtime::ScavengerDoorKind::kReplica,
                                    "berth-extender-scavengers", "berth-system:berth-extender"))
    documents.push_back(std::move(document));
  for (const std::string& document : documents) {
    context.out << between << json::json_to_yaml(document);
    between = "---\n";
  }
  return kExitOk;
}

Result<int> run_extender(const ExtenderFlags& flags, Context& context) {
  if (flags.print != "nothing") return print(flags, context);
  const auto port = port_of("--port", flags.listener.port);
  if (!port) return tl::unexpected(port.error());
  auto tls = flags.listener.tls("pods");
  if (!tls) return tl::unexpected(tls.error());
  // An extender has no other way to know its caller.
  if (*tls && !(*tls)->client_ca_pem.empty()) (*tls)->require_client_certificate = true;
  return run_on_loop(kExitOk,
                     [&](Runtime& runtime, Scope& scope, const Logger& warnings,
                         Finish finish) -> std::shared_ptr<void> {
                       auto cluster = client::connect(runtime, flags.listener.connect, warnings);
                       if (!cluster) {
                         finish(tl::unexpected(usage_error(cluster.error().message)));
                         return nullptr;
                       }
                       const std::string server = (*cluster)->server;
                       auto running = std::make_shared<Running>(
                           scope, *std::move(cluster),
                           Logger(stderr_sink(), scope.executor().clock(),
                                  log_level_named(flags.log_level).value_or(LogLevel::kInfo)));
                       net::HttpServerOptions options = gateway::ExtenderService::server_options();
                       options.address = flags.listener.address;
                       options.port = *port;
                       options.tls = *tls;
                       auto listening = net::HttpServer::start(scope.executor(), std::move(options),
                                                               running->service);
                       if (!listening) {
                         finish(tl::unexpected(listening.error()));
                         return running;
                       }
                       running->server = *std::move(listening);
                       running->service.start();
                       context.out
                           << fmt::format("The extender for {} listens on {}://{}:{}/slots\n",
                                          server, *tls ? "https" : "http", flags.listener.address,
                                          running->server->port())
                           << std::flush;
                       return running;
                     });
}

}  // namespace

Command extender() {
  auto flags = std::make_shared<ExtenderFlags>();
  Command command(
      "extender",
      "Place executors, and choose which scavengers give way, for a stock kube-scheduler");
  flags->listener.add_to(command, "answer only those whose certificate this authority signed");
  command
      .choice("--print", &flags->print, {"nothing", "scheduler-config", "role"},
              "instead of serving: what kube-scheduler has to be told, or the extender's rights")
      .flag("--url", &flags->side.url, "in the printed configuration: where the extender is", "URL")
      .flag("--scheduler-name", &flags->side.scheduler_name,
            "for a second scheduler of this name; default: the one that places all pods", "NAME")
      .flag("--managed-resource", &flags->side.managed,
            "ask about pods that request berth.dev/slot only")
      .flag("--scheduler-ca-file", &flags->side.ca_file, "the authority that the scheduler trusts",
            "FILE")
      .flag("--scheduler-cert-file", &flags->side.cert_file, "the scheduler's own certificate",
            "FILE")
      .flag("--scheduler-key-file", &flags->side.key_file, "and its key", "FILE")
      .flag("--scheduler-kubeconfig", &flags->side.kubeconfig,
            "how the scheduler reaches the cluster", "FILE")
      .choice("--log-level", &flags->log_level, {"debug", "info", "warn", "error"},
              "what is written to standard error")
      .example("berth extender --kubeconfig dev.kubeconfig")
      .example("berth extender --print scheduler-config --url http://127.0.0.1:9443/slots")
      .run([flags](Context& context) { return run_extender(*flags, context); });
  flags->print = "nothing";
  return command;
}

}  // namespace berth::cli
