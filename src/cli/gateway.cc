// SPDX-License-Identifier: Apache-2.0
// berth gateway: the external-scheduler interface and the page, in front of any cluster.
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/listener.h"
#include "cli/on_loop.h"
#include "cli/running_gateway.h"
#include "client/connect.h"

namespace berth::cli {
namespace {

struct GatewayFlags {
  ListenerFlags listener{.port = 8080};
  std::int64_t compat_port = 8082;
  std::vector<std::string> hosts, origins, audiences;
  std::string compat_user;
  bool strict_status = false;
  std::int64_t streams_per_user = 16;
  std::string log_level = "info";
};

Result<GatewayPlan> plan_of(const GatewayFlags& flags) {
  GatewayPlan plan;
  const auto port = port_of("--port", flags.listener.port);
  if (!port) return tl::unexpected(port.error());
  const auto compat = port_of("--compat-port", flags.compat_port);
  if (!compat) return tl::unexpected(compat.error());
  auto tls = flags.listener.tls("tokens");
  if (!tls) return tl::unexpected(tls.error());
  if (flags.streams_per_user < 1)
    return tl::unexpected(usage_error("--streams-per-user: one at least"));
  plan.address = flags.listener.address;
  plan.port = *port;
  plan.compat_port = *compat;
  plan.tls = *std::move(tls);
  gateway::GatewayOptions& options = plan.service.gateway;
  options.origin = {.hosts = flags.hosts, .origins = flags.origins, .tls = plan.tls.has_value()};
  options.auth.audiences = flags.audiences;
  options.compat_user = flags.compat_user;
  options.limits.streams_per_user = static_cast<std::size_t>(flags.streams_per_user);
  plan.service.strict_status = flags.strict_status;
  return plan;
}

// Everything that lives as long as the command. Made and destroyed on the main loop.
class Running {
 public:
  Running(Runtime& runtime, std::unique_ptr<client::Cluster> cluster, Logger log, GatewayPlan plan)
      : cluster_(std::move(cluster)),
        gateway_(runtime, *cluster_->transport, metrics_, std::move(log), std::move(plan)) {}
  Result<RunningGateway::Ports> start() { return gateway_.start(); }

 private:
  Metrics metrics_;
  std::unique_ptr<client::Cluster> cluster_;
  RunningGateway gateway_;
};

void tell(const GatewayPlan& plan, const std::string& server, const RunningGateway::Ports& ports,
          Context& context) {
  const std::string here =
      fmt::format("{}://{}:{}", plan.tls ? "https" : "http", plan.address, ports.main);
  context.out << fmt::format("The gateway of {} listens on {}\n", server, here)
              << fmt::format("In a browser: {}/ui/#token=TOKEN (kubectl create token ACCOUNT)\n",
                             here);
  if (ports.compat != 0)
    context.out << fmt::format("Without a token, as {}, on http://127.0.0.1:{}\n",
                               plan.service.gateway.compat_user, ports.compat);
  context.out << std::flush;
}

Result<int> run_gateway(const GatewayFlags& flags, Context& context) {
  auto plan = plan_of(flags);
  if (!plan) return tl::unexpected(plan.error());
  return run_on_loop(kExitOk,
                     [&](Runtime& runtime, Scope& scope, const Logger& warnings,
                         Finish finish) -> std::shared_ptr<void> {
                       auto cluster = client::connect(runtime, flags.listener.connect, warnings);
                       if (!cluster) {
                         finish(tl::unexpected(usage_error(cluster.error().message)));
                         return nullptr;
                       }
                       plan->service.ns = (*cluster)->ns.empty() ? "default" : (*cluster)->ns;
                       const std::string server = (*cluster)->server;
                       auto running = std::make_shared<Running>(
                           runtime, *std::move(cluster),
                           Logger(stderr_sink(), scope.executor().clock(),
                                  log_level_named(flags.log_level).value_or(LogLevel::kInfo)),
                           *plan);
                       const auto ports = running->start();
                       if (!ports) {
                         finish(tl::unexpected(ports.error()));
                         return running;
                       }
                       tell(*plan, server, *ports, context);
                       return running;
                     });
}

}  // namespace

Command gateway() {
  auto flags = std::make_shared<GatewayFlags>();
  Command command("gateway", "Serve the external-scheduler interface of a cluster, and the page");
  flags->listener.add_to(command, "take client certificates that this authority signed");
  command
      .flag("--namespace", &flags->listener.connect.ns,
            "what /external means; default: the context's", "NS")
      .flag("--host", &flags->hosts, "a name that callers use, besides localhost; *: any", "NAME")
      .flag("--origin", &flags->origins, "pages of this origin may call", "URL")
      .flag("--audience", &flags->audiences, "tokens must be meant for this", "NAME")
      .flag("--compat-user", &flags->compat_user,
            "on a second listener of this machine, callers without a token are this user", "NAME")
      .flag("--compat-port", &flags->compat_port, "of that listener", "PORT")
      .flag("--strict-status", &flags->strict_status,
            "answer 404, not the thesis' 304, to the deletion of what is not there")
      .flag("--streams-per-user", &flags->streams_per_user, "how many a user may have open", "N")
      .choice("--log-level", &flags->log_level, {"debug", "info", "warn", "error"},
              "what is written to standard error; info: every request and its user")
      .example("berth gateway --kubeconfig dev.kubeconfig")
      .example("berth gateway --compat-user thesis --origin http://localhost:4200")
      .run([flags](Context& context) { return run_gateway(*flags, context); });
  return command;
}

}  // namespace berth::cli
