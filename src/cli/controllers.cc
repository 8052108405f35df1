// SPDX-License-Identifier: Apache-2.0
// berth controllers: carries out Berth's own kinds on a cluster.
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/job_kinds.h"
#include "cli/on_loop.h"
#include "cli/removal.h"
#include "cli/serving_flags.h"
#include "cli/webhook_server.h"
#include "client/connect.h"
#include "controllers/registry.h"
#include "controllers/scavenger_metrics.h"
#include "controllers/slots_metrics.h"
#include "runtime/home.h"
#include "runtime/one_namespace.h"
#include "scheduler/doors/reclaimer.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/serving/process_metrics.h"

namespace berth::cli {
namespace {

// Only a cluster that does not serve a kind, or lets nobody read it, is silent for so long.
constexpr Duration kSilent = 15s;

struct ControllersOptions {
  client::ConnectOptions connect;
  std::vector<std::string> namespaces = {};  // none: all of them
  std::vector<std::string> only = {};        // none: all that can work there
  std::string leader_elect = "true";
  std::string lease_namespace = "kube-system", lease_name = "berth-controllers";
  ServingFlags serving{.secure_port = 10257};
  std::string log_level = "info", log_format = "text";
  std::string job_kinds = {};  // a folder; "": none besides the built-in ones
  std::string gateway = {};
  controllers::ExecutorOptions executors = {};
  WebhookFlags webhooks;
  bool remove = false, force = false;

  bool elects() const { return leader_elect == "true"; }
  std::vector<std::string> names() const {
    if (!only.empty()) return only;
    return namespaces.empty() ? controllers::names_of(controllers::Registration::Whose::kBerth)
                              : controllers::names_for_some_namespaces();
  }
};

// Everything that lives as long as the command.
class RunningControllers {
 public:
  RunningControllers(Scope& scope, std::unique_ptr<client::Cluster> cluster, AskedClusters asked,
                     Logger log, const scheduler::SecurePortOptions& port,
                     const std::vector<controllers::JobKind>& job_kinds,
                     const ControllersOptions& options)
      : scope_(scope),
        log_(std::move(log)),
        cluster_(std::move(cluster)),
        asked_(std::move(asked)),
        random_(Random::from_entropy()),
        webhooks_(make_webhooks(options)),
        port_(scope, asked_.authentication(*cluster_->transport),
              asked_.authorization(*cluster_->transport), content(), log_, random_.fork("port"),
              port) {
    std::vector<std::string> places = options.namespaces;
    if (places.empty()) places.emplace_back();
    for (const std::string& place : places) {
      ways_.push_back(std::make_unique<runtime::OneNamespace>(*cluster_->transport, place));
      homes_.push_back(std::make_unique<runtime::Home>(
          scope, place.empty() ? *cluster_->transport : *ways_.back(), metrics_, log_,
          random_.fork("home " + place),
          *controllers::make_controllers(options.names(),
                                         {.job_kinds = job_kinds,
                                          .executors = options.executors,
                                          .gateway = [url = options.gateway] { return url; }}),
          home_options(options, place)));
    }
  }

  Result<Ok> start(std::function<void(Error)> failed) {
    if (Result<Ok> listening = port_.start(std::move(failed)); !listening) return listening;
    if (webhooks_)
      if (Result<Ok> listening = webhooks_->start(); !listening) return listening;
    for (const auto& home : homes_) home->start();
    warn_while_silent();
    return Ok{};
  }

 private:
  runtime::HomeOptions home_options(const ControllersOptions& options, const std::string& place) {
    runtime::HomeOptions home{.instance = "berth-controllers"};
    home.observers = {counted_, slots_};
    // Who may work in some namespaces only has no sight of the pods that a cluster has to place.
    if (place.empty())
      home.beside = [this](Scope& term, client::Transport& transport) {
        reclaimers_.push_back(std::make_unique<scheduler::Reclaimer>(term, transport, metrics_,
                                                                     log_, random_.fork("reclaim"),
                                                                     scheduler::default_profile()));
        reclaimers_.back()->start();
      };
    if (!options.elects()) return home;
    home.election = client::LeaderElectionOptions{
        .settings = {.identity = client::unique_identity(host_name(), random_)},
        // Who may work in some namespaces only has a lease in each.
        .ns = place.empty() ? options.lease_namespace : place,
        .name = options.lease_name,
        .metrics = &metrics_};
    return home;
  }

  std::unique_ptr<WebhookServer> make_webhooks(const ControllersOptions& options) {
    if (!options.webhooks.wanted()) return nullptr;
    return std::make_unique<WebhookServer>(
        scope_, *cluster_->transport, metrics_, log_, random_.fork("webhooks"), options.webhooks,
        options.elects() ? std::optional(kube::Key{options.lease_namespace, options.lease_name})
                         : std::nullopt,
        [this] { return !homes_.empty() && homes_.front()->leads(); });
  }

  scheduler::ServingContent content() {
    scheduler::ServingContent served;
    // One that waits for the lease is ready to take over.
    served.readyz = {{"caches",
                      [this]() -> Result<Ok> {
                        const std::set<std::string> kinds = unread();
                        if (kinds.empty()) return Ok{};
                        return fail(Reason::kServiceUnavailable,
                                    fmt::format("not read yet: {}", fmt::join(kinds, ", ")));
                      }},
                     {"webhooks",
                      [this]() -> Result<Ok> {
                        if (!webhooks_ || webhooks_->serving()) return Ok{};
                        return fail(Reason::kServiceUnavailable, "there is no certificate yet");
                      }},
                     {"shutdown", [this]() -> Result<Ok> {
                        if (!scope_.closing()) return Ok{};
                        return fail(Reason::kServiceUnavailable, "process is shutting down");
                      }}};
    served.metrics = [this] { return metrics_.exposition() + scheduler::process_metrics(); };
    served.version = version_json();
    return served;
  }

  // By those that are to work now.
  std::set<std::string> unread() const {
    std::set<std::string> kinds;
    for (const auto& home : homes_)
      if (home->leads() && !home->working())
        for (std::string& kind : home->unsynced()) kinds.insert(std::move(kind));
    return kinds;
  }
  void warn_while_silent() {
    scope_.after(kSilent, [this] {
      if (const std::set<std::string> kinds = unread(); !kinds.empty())
        log_.warn("waiting for kinds that cannot be read; berth install prints their definitions",
                  {{"kinds", fmt::format("{}", fmt::join(kinds, ", "))}});
      warn_while_silent();
    });
  }

  Scope& scope_;
  Logger log_;
  Metrics metrics_;
  std::unique_ptr<client::Cluster> cluster_;
  AskedClusters asked_;
  Random random_;
  const std::shared_ptr<controllers::ScavengerMetrics> counted_ =
      std::make_shared<controllers::ScavengerMetrics>(metrics_);
  const std::shared_ptr<controllers::SlotsMetrics> slots_ =
      std::make_shared<controllers::SlotsMetrics>(metrics_);
  std::vector<std::unique_ptr<scheduler::Reclaimer>> reclaimers_;  // one a term
  std::vector<std::unique_ptr<client::Transport>> ways_;
  std::vector<std::unique_ptr<runtime::Home>> homes_;  // one a namespace, or one for all
  std::unique_ptr<WebhookServer> webhooks_;            // where they are answered
  scheduler::SecurePort port_;
};

Result<int> run_controllers(const ControllersOptions& options) {
  const Result<scheduler::SecurePortOptions> port = options.serving.options();
  if (!port) return tl::unexpected(port.error());
  if (const std::string& url = options.gateway;
      !url.empty() &&
      ((!url.starts_with("https://") && !url.starts_with("http://")) || url.ends_with('/')))
    return tl::unexpected(usage_error(fmt::format(
        "--gateway {}: write where pods reach it, such as https://berth-gateway.berth-system.svc",
        url)));
  if (const auto known = controllers::make_controllers(options.names()); !known)
    return tl::unexpected(usage_error("--only: " + known.error().message));
  const auto job_kinds = read_job_kinds(options.job_kinds);
  if (!job_kinds) return tl::unexpected(job_kinds.error());
  if (options.webhooks.wanted())
    if (const auto good = options.webhooks.checked_port(); !good)
      return tl::unexpected(good.error());
  return run_on_loop(
      kExitOk,
      [&](Runtime& runtime, Scope& scope, const Logger&, Finish finish) -> std::shared_ptr<void> {
        const Logger log(stderr_sink(), scope.executor().clock(),
                         log_level_named(options.log_level).value_or(LogLevel::kInfo),
                         options.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
        const auto give_up = [finish](Error error) { finish(tl::unexpected(std::move(error))); };
        auto cluster = client::connect(runtime, options.connect, log);
        if (!cluster) return give_up(usage_error(cluster.error().message)), nullptr;
        auto asked = AskedClusters::connect(runtime, options.serving, log);
        if (!asked) return give_up(asked.error()), nullptr;
        auto running = std::make_shared<RunningControllers>(
            scope, std::move(*cluster), std::move(*asked), log, *port, *job_kinds, options);
        if (Result<Ok> started = running->start(give_up); !started) give_up(started.error());
        return running;
      });
}

}  // namespace

Command controllers() {
  auto options = std::make_shared<ControllersOptions>();
  Command command("controllers",
                  "Carry out Testbeds, Schedulings, BatchJobs and ScavengerJobs on a cluster");
  command
      .flag("--kubeconfig", &options->connect.kubeconfig,
            "how to reach the cluster; default: $KUBECONFIG, ~/.kube/config, or the pod's own",
            "FILE")
      .flag("--context", &options->connect.context, "which context of the kubeconfig", "NAME")
      .flag("--namespaces", &options->namespaces,
            "work in these alone, with a lease in each, and without scavengers; default: in all",
            "NS")
      .flag("--job-kinds", &options->job_kinds,
            "kinds of applications besides the built-in ones: a folder of files", "DIR")
      .flag("--gateway", &options->gateway,
            "where pods of ScavengerJobs report checkpoints, such as "
            "https://berth-gateway.berth-system.svc; default: they are told nothing",
            "URL")
      .flag("--executor-scheduler", &options->executors.scheduler,
            "who is to place executors; default: whom their job names, or the cluster's", "NAME")
      .flag("--slot-resource", &options->executors.slot_resource,
            "executors request berth.dev/slot, for a scheduler that asks its extender about those "
            "alone")
      .flag("--only", &options->only, "these alone; default: all that Berth adds to a cluster",
            "NAME")
      .choice("--leader-elect", &options->leader_elect, {"true", "false"},
              "work only while holding the lease")
      .flag("--leader-elect-resource-name", &options->lease_name, "the Lease", "NAME")
      .flag("--leader-elect-resource-namespace", &options->lease_namespace, "and where it is",
            "NAME");
  options->serving.add_to(command);
  options->webhooks.add_to(command);
  command
      .flag("--remove", &options->remove,
            "instead of working: take webhooks and finalizers from the cluster")
      .flag("--force", &options->force, "with --remove: although the controllers still run")
      .choice("--log-level", &options->log_level, {"debug", "info", "warn", "error"},
              "what is written to standard error")
      .choice("--log-format", &options->log_format, {"text", "json"}, "how it is written")
      .example("berth controllers --kubeconfig ~/.kube/config")
      .example("berth controllers --namespaces team-a --namespaces team-b")
      .run([options](Context& context) -> Result<int> {
        options->webhooks.slot_resource = options->executors.slot_resource;
        if (!options->remove) return run_controllers(*options);
        return remove_from_cluster({.connect = options->connect,
                                    .ns = options->lease_namespace,
                                    .lease_name = options->lease_name,
                                    .force = options->force},
                                   context);
      });
  return command;
}

}  // namespace berth::cli
