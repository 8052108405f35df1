// SPDX-License-Identifier: Apache-2.0
// berth gateway: the external-scheduler interface and the page, in front of any cluster.
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/named_file.h"
#include "cli/on_loop.h"
#include "cli/running_gateway.h"
#include "client/connect.h"
#include "net/address.h"

namespace berth::cli {
namespace {

struct GatewayFlags {
  client::ConnectOptions connect;
  std::string address = "127.0.0.1";
  std::int64_t port = 8080, compat_port = 8082;
  std::string tls_cert_file, tls_key_file, client_ca_file;
  std::vector<std::string> hosts, origins, audiences;
  std::string compat_user;
  bool strict_status = false;
  std::int64_t streams_per_user = 16;
  std::string log_level = "info";
};

Result<std::uint16_t> port_of(const char* flag, std::int64_t port) {
  if (port >= 0 && port <= 65535) return static_cast<std::uint16_t>(port);
  return tl::unexpected(
      usage_error(fmt::format("{} {}: a port is 0 to 65535 (0: a free one)", flag, port)));
}

Result<std::optional<net::TlsServerOptions>> tls_of(const GatewayFlags& flags) {
  if (flags.tls_cert_file.empty() && flags.tls_key_file.empty()) {
    if (net::is_loopback(flags.address)) return std::nullopt;
    return tl::unexpected(usage_error(
        fmt::format("--address {}: tokens would travel in the open; give --tls-cert-file and "
                    "--tls-private-key-file, or listen on 127.0.0.1",
                    flags.address)));
  }
  net::TlsServerOptions tls;
  const std::pair<const std::string*, std::string*> files[] = {
      {&flags.tls_cert_file, &tls.certificate_pem},
      {&flags.tls_key_file, &tls.key_pem},
      {&flags.client_ca_file, &tls.client_ca_pem}};
  for (const auto& [path, contents] : files) {
    if (path->empty()) continue;
    Result<std::string> read = read_named_file(*path);
    if (!read) return tl::unexpected(read.error());
    *contents = *std::move(read);
  }
  if (Result<Ok> good = net::check(tls); !good)
    return tl::unexpected(usage_error("TLS: " + good.error().message));
  return tls;
}

Result<GatewayPlan> plan_of(const GatewayFlags& flags) {
  GatewayPlan plan;
  const auto port = port_of("--port", flags.port);
  if (!port) return tl::unexpected(port.error());
  const auto compat = port_of("--compat-port", flags.compat_port);
  if (!compat) return tl::unexpected(compat.error());
  auto tls = tls_of(flags);
  if (!tls) return tl::unexpected(tls.error());
  if (flags.streams_per_user < 1)
    return tl::unexpected(usage_error("--streams-per-user: one at least"));
  plan.address = flags.address;
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

Result<int> run_gateway(const GatewayFlags& flags, Context& context) {
  auto plan = plan_of(flags);
  if (!plan) return tl::unexpected(plan.error());
  return run_on_loop(
      kExitOk,
      [&](Runtime& runtime, Scope& scope, const Logger& warnings,
          Finish finish) -> std::shared_ptr<void> {
        auto cluster = client::connect(runtime, flags.connect, warnings);
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
        context.out << fmt::format("The gateway of {} listens on {}://{}:{}\n", server,
                                   plan->tls ? "https" : "http", flags.address, ports->main);
        if (ports->compat != 0)
          context.out << fmt::format("Without a token, as {}, on http://127.0.0.1:{}\n",
                                     flags.compat_user, ports->compat);
        context.out << std::flush;
        return running;
      });
}

}  // namespace

Command gateway() {
  auto flags = std::make_shared<GatewayFlags>();
  Command command("gateway", "Serve the external-scheduler interface of a cluster");
  command
      .flag("--kubeconfig", &flags->connect.kubeconfig,
            "how to reach the cluster; default: $KUBECONFIG, ~/.kube/config, or the pod's own",
            "FILE")
      .flag("--context", &flags->connect.context, "context of the kubeconfig", "NAME")
      .flag("--namespace", &flags->connect.ns, "what /external means; default: the context's", "NS")
      .flag("--address", &flags->address, "listen on this address", "IP")
      .flag("--port", &flags->port, "and port; 0: a free one", "PORT")
      .flag("--tls-cert-file", &flags->tls_cert_file, "serve TLS with this certificate", "FILE")
      .flag("--tls-private-key-file", &flags->tls_key_file, "and its key", "FILE")
      .flag("--client-ca-file", &flags->client_ca_file,
            "take client certificates that this authority signed", "FILE")
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
