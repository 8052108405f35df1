// SPDX-License-Identifier: Apache-2.0
// berth scheduler: places the pods of a cluster, in the place of kube-scheduler or beside it.
#include <memory>

#include <fmt/format.h>

#include "cli/case_folder.h"
#include "cli/command.h"
#include "cli/named_file.h"
#include "cli/on_loop.h"
#include "cli/scheduler_config.h"
#include "cli/serving_flags.h"
#include "client/connect.h"
#include "scheduler/config/config.h"
#include "scheduler/config/flags.h"
#include "scheduler/config/go_duration.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/app.h"
#include "scheduler/run/served.h"

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
  ServingFlags serving;
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

// Everything that lives as long as the command.
struct RunningScheduler {
  explicit RunningScheduler(Logger to) : log(std::move(to)) {}
  Logger log;
  std::unique_ptr<client::Cluster> cluster;
  Metrics metrics;
  AskedClusters asked;
  std::unique_ptr<scheduler::App> app;
  std::unique_ptr<scheduler::Served> served;
};

Result<int> run_scheduler(const SchedulerOptions& options) {
  const Result<scheduler::SchedulerConfig> config = config_of(options);
  if (!config) return tl::unexpected(config.error());
  const Result<scheduler::SecurePortOptions> port = options.serving.options();
  if (!port) return tl::unexpected(port.error());
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
        auto asked = AskedClusters::connect(runtime, options.serving, log);
        if (!asked) {
          finish(tl::unexpected(asked.error()));
          return running;
        }
        running->asked = std::move(*asked);
        client::Transport& own = *running->cluster->transport;
        running->served = std::make_unique<scheduler::Served>(
            scope, own, running->asked.authentication(own), running->asked.authorization(own),
            *running->app, running->metrics, running->log, random.fork("served"),
            scheduler::ServedOptions{.port = *port, .version = version_json()});
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
  options->serving.add_to(command);
  return command;
}

}  // namespace berth::cli
