// SPDX-License-Identifier: Apache-2.0
// berth scheduler: places the pods of a cluster, in the place of kube-scheduler or beside it.
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/case_folder.h"
#include "cli/command.h"
#include "cli/named_file.h"
#include "cli/on_loop.h"
#include "cli/scheduler_config.h"
#include "client/connect.h"
#include "net/tls.h"
#include "scheduler/config/config.h"
#include "scheduler/config/flags.h"
#include "scheduler/config/go_duration.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/app.h"
#include "scheduler/run/served.h"
#include "scheduler/serving/secure_server.h"

namespace berth::cli {
namespace {

struct SchedulerOptions {
  std::string config;
  client::ConnectOptions connect;
  std::string log_level = "info";
  std::string log_format = "text";
  // As kube-scheduler has them; "" is "not given".
  std::string leader_elect, lease_duration, renew_deadline, retry_period, resource_name,
      resource_namespace, max_in_unschedulable;
  std::string bind_address = "0.0.0.0";
  std::int64_t secure_port = 10259;
  std::string tls_cert_file, tls_key_file, client_ca_file;
  std::string authentication_kubeconfig, authorization_kubeconfig;
  bool skip_lookup = false;
  std::string tolerate_lookup_failure = "true";
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
  std::vector<std::string> feature_gates;
  std::int64_t verify_decisions = 0;
  std::string mismatch_dir;
};

Result<std::optional<Duration>> duration_of(const std::string& flag, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const std::optional<Duration> parsed = scheduler::parse_go_duration(text)) return parsed;
  return tl::unexpected(
      usage_error(fmt::format("{} {}: not a duration; write it like 15s or 1m30s", flag, text)));
}

Result<scheduler::ConfigFlags> flags_of(const SchedulerOptions& options) {
  scheduler::ConfigFlags flags;
  if (!options.leader_elect.empty()) flags.leader_elect = options.leader_elect == "true";
  const std::tuple<const char*, const std::string&, std::optional<Duration>&> durations[] = {
      {"--leader-elect-lease-duration", options.lease_duration, flags.lease_duration},
      {"--leader-elect-renew-deadline", options.renew_deadline, flags.renew_deadline},
      {"--leader-elect-retry-period", options.retry_period, flags.retry_period},
      {"--pod-max-in-unschedulable-pods-duration", options.max_in_unschedulable,
       flags.pod_max_in_unschedulable_pods}};
  for (const auto& [flag, text, target] : durations) {
    Result<std::optional<Duration>> parsed = duration_of(flag, text);
    if (!parsed) return tl::unexpected(parsed.error());
    target = *parsed;
  }
  flags.feature_gates = options.feature_gates;
  if (!options.resource_name.empty()) flags.resource_name = options.resource_name;
  if (!options.resource_namespace.empty()) flags.resource_namespace = options.resource_namespace;
  return flags;
}

Result<scheduler::SchedulerConfig> config_of(const SchedulerOptions& options) {
  Result<scheduler::SchedulerConfig> config = load_scheduler_config(options.config);
  if (!config) return config;
  Result<scheduler::ConfigFlags> flags = flags_of(options);
  if (!flags) return tl::unexpected(flags.error());
  if (Result<Ok> applied = scheduler::apply(*flags, !options.config.empty(), *config); !applied)
    return tl::unexpected(usage_error(applied.error().message));
  return config;
}

// What would only be noticed when the server is to start, or when somebody calls.
Result<Ok> check_serving(const SchedulerOptions& options, const scheduler::ServedOptions& served) {
  in6_addr ignored{};
  if (inet_pton(AF_INET, options.bind_address.c_str(), &ignored) != 1 &&
      inet_pton(AF_INET6, options.bind_address.c_str(), &ignored) != 1)
    return tl::unexpected(usage_error(
        fmt::format("--bind-address {}: not an IP address; write one like 0.0.0.0, 127.0.0.1 or ::",
                    options.bind_address)));
  if (!served.serving.certificate_pem.empty() || !served.serving.key_pem.empty())
    if (const auto server = scheduler::secure_server_options(served.serving); !server)
      return tl::unexpected(usage_error(server.error().message));
  const std::string& trusted = served.authentication.client_ca_pem;
  if (Result<Ok> good = net::check(net::TlsClientOptions{.ca_pem = trusted}); !good)
    return tl::unexpected(usage_error(
        fmt::format("--client-ca-file {}: {}", options.client_ca_file, good.error().message)));
  const std::pair<const char*, const std::string&> kubeconfigs[] = {
      {"--authentication-kubeconfig", options.authentication_kubeconfig},
      {"--authorization-kubeconfig", options.authorization_kubeconfig}};
  for (const auto& [flag, path] : kubeconfigs) {
    if (path.empty()) continue;
    const auto cluster =
        client::choose_cluster(client::Surroundings::real(), client::ConnectOptions{path, "", ""});
    if (cluster) continue;
    std::string message = cluster.error().message;
    constexpr std::string_view kUsual = "--kubeconfig";
    if (const std::size_t at = message.find(kUsual); at != std::string::npos)
      message.replace(at, kUsual.size(), flag);
    return tl::unexpected(usage_error(std::move(message)));
  }
  return Ok{};
}

Result<scheduler::ServedOptions> served_of(const SchedulerOptions& options) {
  scheduler::ServedOptions served;
  if (options.secure_port < 0 || options.secure_port > 65535)
    return tl::unexpected(usage_error(fmt::format(
        "--secure-port {}: a port is 0 to 65535 (0: serve nothing)", options.secure_port)));
  served.serving.bind_address = options.bind_address;
  served.serving.secure_port = static_cast<std::uint16_t>(options.secure_port);
  const std::pair<const std::string*, std::string*> files[] = {
      {&options.tls_cert_file, &served.serving.certificate_pem},
      {&options.tls_key_file, &served.serving.key_pem},
      {&options.client_ca_file, &served.authentication.client_ca_pem}};
  for (const auto& [path, contents] : files) {
    if (path->empty()) continue;
    Result<std::string> read = read_named_file(*path);
    if (!read) return tl::unexpected(read.error());
    *contents = std::move(*read);
  }
  if (Result<Ok> good = check_serving(options, served); !good) return tl::unexpected(good.error());
  served.authentication.skip_lookup = options.skip_lookup;
  served.authentication.tolerate_lookup_failure = options.tolerate_lookup_failure == "true";
  served.authorization.always_allow_paths = options.always_allow_paths;
  if (Result<Ok> good = scheduler::check(served.authorization); !good)
    return tl::unexpected(usage_error(good.error().message));
  served.version = fmt::format(R"({{"gitVersion":"v{}","platform":"linux"}})", BERTH_VERSION);
  return served;
}

Result<Ok> check_verifying(const SchedulerOptions& options) {
  if (options.verify_decisions < 0)
    return tl::unexpected(usage_error(
        fmt::format("--verify-decisions {}: how many decisions to one that is checked, 1 or more; "
                    "0: none is",
                    options.verify_decisions)));
  if (options.mismatch_dir.empty()) return Ok{};
  if (options.verify_decisions == 0)
    return tl::unexpected(
        usage_error("--mismatch-dir: nothing is checked; give --verify-decisions as well"));
  return CaseFolder(options.mismatch_dir).usable();
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("unknown");
}

// Everything that lives as long as the command.
struct RunningScheduler {
  explicit RunningScheduler(Logger to) : log(std::move(to)) {}
  Logger log;
  std::unique_ptr<client::Cluster> cluster;
  Metrics metrics;
  std::unique_ptr<client::Cluster> authentication, authorization;  // where they are others
  std::unique_ptr<scheduler::App> app;
  std::unique_ptr<scheduler::Served> served;
};

Result<int> run_scheduler(const SchedulerOptions& options) {
  const Result<scheduler::SchedulerConfig> config = config_of(options);
  if (!config) return tl::unexpected(config.error());
  const Result<scheduler::ServedOptions> served = served_of(options);
  if (!served) return tl::unexpected(served.error());
  if (Result<Ok> good = check_verifying(options); !good) return tl::unexpected(good.error());
  std::weak_ptr<RunningScheduler> now_running;  // touched on the loop only
  return run_on_loop(
      kExitOk,
      [&](Runtime& runtime, Scope& scope, const Logger&, Finish finish) -> std::shared_ptr<void> {
        const Logger log(stderr_sink(), scope.executor().clock(),
                         log_level_named(options.log_level).value_or(LogLevel::kInfo),
                         options.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
        for (const std::string& warning : config->warnings) log.warn(warning);
        client::ConnectOptions connect = options.connect;
        if (connect.kubeconfig.empty()) connect.kubeconfig = config->client_connection.kubeconfig;
        auto cluster = client::connect(runtime, connect, log);
        if (!cluster) {
          finish(tl::unexpected(usage_error(cluster.error().message)));
          return nullptr;
        }
        auto running = std::make_shared<RunningScheduler>(log);
        running->cluster = std::move(*cluster);
        Random random = Random::from_entropy();
        scheduler::AppOptions app{.config = *config,
                                  .identity = client::unique_identity(host_name(), random)};
        app.verify_decisions = static_cast<std::uint64_t>(options.verify_decisions);
        if (!options.mismatch_dir.empty())
          app.mismatch = [log, folder = CaseFolder(options.mismatch_dir)](
                             const std::string& pod, const std::string& text) mutable {
            const Result<std::string> path = folder.write(pod, text);
            if (path)
              log.warn("case written; berth explain --cases reads it", {{"file", *path}});
            else
              log.error("case could not be written", {{"error", path.error()}});
          };
        running->app = std::make_unique<scheduler::App>(
            scope, *running->cluster->transport, running->metrics, log, random,
            scheduler::all_plugins(), std::move(app),
            [finish](Error error) { finish(tl::unexpected(std::move(error))); });
        const auto transport_for =
            [&](const std::string& kubeconfig,
                std::unique_ptr<client::Cluster>& own) -> client::Transport* {
          if (kubeconfig.empty()) return running->cluster->transport.get();
          auto other = client::connect(runtime, client::ConnectOptions{kubeconfig, "", ""}, log);
          if (!other) {
            finish(tl::unexpected(usage_error(other.error().message)));
            return nullptr;
          }
          own = std::move(*other);
          return own->transport.get();
        };
        client::Transport* const authentication =
            transport_for(options.authentication_kubeconfig, running->authentication);
        client::Transport* const authorization =
            transport_for(options.authorization_kubeconfig, running->authorization);
        running->served = std::make_unique<scheduler::Served>(
            scope, *running->cluster->transport, authentication, authorization, *running->app,
            running->metrics, running->log, random.fork("served"), *served);
        const auto give_up = [finish](Error error) { finish(tl::unexpected(std::move(error))); };
        if (Result<Ok> listening = running->served->start(give_up); !listening) {
          give_up(listening.error());
          return running;
        }
        running->app->start();
        now_running = running;
        return running;
      },
      [&] {
        if (const auto running = now_running.lock()) running->app->compare();
      });
}

}  // namespace

Command scheduler() {
  auto options = std::make_shared<SchedulerOptions>();
  Command command("scheduler", "Place the pods of a cluster, as kube-scheduler does, faster");
  command.flag("--config", &options->config, "a KubeSchedulerConfiguration (v1)", "FILE")
      .flag("--kubeconfig", &options->connect.kubeconfig, "how to reach the cluster", "FILE")
      .flag("--context", &options->connect.context, "which context of the kubeconfig", "NAME")
      .choice("--leader-elect", &options->leader_elect, {"true", "false"},
              "schedule only while holding the lease; default: as configured, true")
      .flag("--leader-elect-lease-duration", &options->lease_duration, "how long a lease holds",
            "15s")
      .flag("--leader-elect-renew-deadline", &options->renew_deadline,
            "when to give up renewing it", "10s")
      .flag("--leader-elect-retry-period", &options->retry_period, "how often to try", "2s")
      .flag("--leader-elect-resource-name", &options->resource_name, "the Lease", "NAME")
      .flag("--leader-elect-resource-namespace", &options->resource_namespace, "and where it is",
            "NAME")
      .flag("--pod-max-in-unschedulable-pods-duration", &options->max_in_unschedulable,
            "after which a pod is tried again in any case", "5m")
      .flag("--secure-port", &options->secure_port,
            "serve health and metrics here, over HTTPS; 0: nowhere", "PORT")
      .flag("--bind-address", &options->bind_address, "and on this address", "IP")
      .flag("--tls-cert-file", &options->tls_cert_file,
            "certificate to serve with; default: one made at start", "FILE")
      .flag("--tls-private-key-file", &options->tls_key_file, "and its key", "FILE")
      .flag("--client-ca-file", &options->client_ca_file,
            "trust client certificates signed by these", "FILE")
      .flag("--authentication-kubeconfig", &options->authentication_kubeconfig,
            "cluster to ask who a caller is; default: the same", "FILE")
      .flag("--authorization-kubeconfig", &options->authorization_kubeconfig,
            "cluster to ask what a caller may do; default: the same", "FILE")
      .flag("--authentication-skip-lookup", &options->skip_lookup,
            "do not read whom the cluster trusts")
      .choice("--authentication-tolerate-lookup-failure", &options->tolerate_lookup_failure,
              {"true", "false"}, "go on where that cannot be read")
      .flag("--authorization-always-allow-paths", &options->always_allow_paths,
            "paths that are open to all", "PATH")
      .flag("--feature-gates", &options->feature_gates,
            "kube-scheduler's; SchedulerAsyncPreemption can be turned off", "NAME=true|false")
      .flag("--verify-decisions", &options->verify_decisions,
            "make every so many-th cached decision again without caches, and use that one where "
            "they differ; 1: stop there; 0: never",
            "N")
      .flag("--mismatch-dir", &options->mismatch_dir,
            "write what such a decision was about into this folder, as a case for berth explain",
            "DIR")
      .choice("--log-level", &options->log_level, {"debug", "info", "warn", "error"},
              "what is written to standard error")
      .choice("--log-format", &options->log_format, {"text", "json"}, "how it is written")
      .example("berth scheduler --kubeconfig ~/.kube/config --config scheduler.yaml")
      .run([options](Context&) { return run_scheduler(*options); });
  return command;
}

}  // namespace berth::cli
