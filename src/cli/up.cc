// SPDX-License-Identifier: Apache-2.0
// berth up: a Kubernetes cluster in one process.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job_kinds.h"
#include "cli/manifests.h"
#include "cli/named_file.h"
#include "cli/on_loop.h"
#include "cli/running_gateway.h"
#include "cli/scheduler_config.h"
#include "cli/up_address.h"
#include "cli/up_demo.h"
#include "client/connect.h"
#include "client/http_transport.h"
#include "cluster/applier.h"
#include "cluster/cluster_time.h"
#include "cluster/reachable.h"
#include "controllers/registry.h"
#include "gateway/observe/hub.h"
#include "lab/stages/stages.h"
#include "lab/usage.h"
#include "net/tls.h"
#include "scheduler/plugins/registry.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

struct UpOptions {
  std::string nodes;
  std::int64_t port = 6443, ui_port = 0;
  UpAddress address = {};
  std::string kubeconfig_out = "berth.kubeconfig";
  std::string data_dir;
  bool ephemeral = false, fsync = false, salvage = false, demo = false;
  std::vector<std::string> apply, without, stages, usage;
  std::string speed = "real", events = "auto";
  std::string scheduler_config;
  std::string controllers = "*";
  std::string job_kinds = {};
  controllers::ExecutorOptions executors = {};
  std::int64_t seed = 1;
  std::string log_level = "warn";
};

std::string default_data_dir() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0')
    return fmt::format("{}/berth/up", state);
  const char* home = std::getenv("HOME");
  return fmt::format("{}/.local/state/berth/up", home != nullptr ? home : "/tmp");
}

// Everything that is checked before anything starts.
struct Plan {
  cluster::ReachableOptions cluster;
  std::vector<kube::Object> manifests;
};

Result<std::vector<kube::Object>> read_manifests(const std::vector<std::string>& places) {
  Manifests all;
  for (const std::string& place : places) {
    std::vector<std::string> files;
    std::error_code failed;
    if (fs::is_directory(place, failed)) {
      for (const auto& entry : fs::directory_iterator(place, failed)) {
        const std::string kind = entry.path().extension().string();
        if (entry.is_regular_file() && (kind == ".yaml" || kind == ".yml" || kind == ".json"))
          files.push_back(entry.path().string());
      }
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(place);
    }
    for (const std::string& file : files)
      if (Result<Ok> read = all.read(file); !read) return tl::unexpected(read.error());
  }
  return all.all();
}

bool without(const UpOptions& options, std::string_view part) {
  return std::find(options.without.begin(), options.without.end(), part) != options.without.end();
}

Result<Ok> check(const UpOptions& options) {
  if (options.port < 0 || options.port > 65535)
    return tl::unexpected(
        usage_error(fmt::format("--port {}: a port is 0 to 65535 (0: a free one)", options.port)));
  if (options.ui_port < 0 || options.ui_port > 65535)
    return tl::unexpected(usage_error(
        fmt::format("--ui-port {}: a port is 0 to 65535 (0: a free one)", options.ui_port)));
  if (Result<Ok> good = options.address.check(); !good) return good;
  if (options.ephemeral && !options.data_dir.empty())
    return tl::unexpected(
        usage_error("--ephemeral keeps nothing and --data-dir keeps everything; give one of them"));
  if (without(options, "nodes") && !(options.stages.empty() && options.usage.empty()))
    return tl::unexpected(
        usage_error("--stages and --usage are about simulated nodes; --without nodes has none"));
  if (!cluster::parse_speed(options.speed))
    return tl::unexpected(usage_error(
        fmt::format("--speed {}: write real, max, or a factor like x60", options.speed)));
  for (const std::string& part : options.without)
    if (part != "scheduler" && part != "controllers" && part != "nodes" && part != "gateway")
      return tl::unexpected(usage_error(fmt::format(
          "--without {}: what can be left out is scheduler, controllers, nodes and gateway",
          part)));
  return Ok{};
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A number of nodes, or the Node manifests in a file.
Result<Ok> read_nodes(const UpOptions& options, lab::LabOptions& lab) {
  if (options.nodes.empty()) {
    lab.nodes = 10;
    return Ok{};
  }
  constexpr std::size_t kMostNodes = 100'000;
  const char* const end = options.nodes.data() + options.nodes.size();
  const auto [stop, error] = std::from_chars(options.nodes.data(), end, lab.nodes);
  if (error == std::errc() && stop == end) {
    // Who wants no nodes brings others, and not all of those need be simulated.
    lab.every_node = lab.nodes > 0;
    if (lab.nodes <= kMostNodes) return Ok{};
    return tl::unexpected(
        usage_error(fmt::format("--nodes {}: {} at most", options.nodes, kMostNodes)));
  }
  lab.nodes = 0;
  Manifests all;
  if (Result<Ok> read = all.read(options.nodes); !read)
    return tl::unexpected(usage_error("--nodes: " + read.error().message));
  const auto nodes = all.of(kube::kNode);
  if (nodes.empty())
    return tl::unexpected(usage_error(
        fmt::format("--nodes {}: no Node is in it; give a number or a manifest that has nodes",
                    options.nodes)));
  lab.given_nodes.assign(nodes.begin(), nodes.end());
  return Ok{};
}

// What the files of a flag add up to; null where none is given.
template <class T>
Result<std::shared_ptr<const T>> added(const std::vector<std::string>& files) {
  if (files.empty()) return nullptr;
  auto all = std::make_shared<T>();
  for (const std::string& file : files) {
    const Result<std::string> text = read_named_file(file);
    if (!text) return tl::unexpected(text.error());
    if (Result<Ok> good = all->add(*text, file); !good)
      return tl::unexpected(usage_error(good.error().message));
  }
  return all;
}

Result<Ok> read_lab(const UpOptions& options, cluster::ClusterOptions& parts) {
  if (without(options, "nodes")) {
    parts.lab.reset();
    return Ok{};
  }
  if (Result<Ok> good = read_nodes(options, *parts.lab); !good) return good;
  parts.nodes_once = options.nodes.empty();
  auto stages = added<lab::Stages>(options.stages);
  if (!stages) return tl::unexpected(stages.error());
  parts.lab->stages = *std::move(stages);
  auto usage = added<lab::UsageRules>(options.usage);
  if (!usage) return tl::unexpected(usage.error());
  parts.usage = *std::move(usage);
  return Ok{};
}

Result<Plan> plan_of(const UpOptions& options) {
  if (Result<Ok> good = check(options); !good) return tl::unexpected(good.error());
  Plan plan;
  plan.cluster.address = options.address.bound;
  plan.cluster.advertised = options.address.for_others();
  plan.cluster.port = static_cast<std::uint16_t>(options.port);
  plan.cluster.seed = static_cast<std::uint64_t>(options.seed);
  cluster::ClusterOptions& parts = plan.cluster.cluster;
  plan.cluster.speed = *cluster::parse_speed(options.speed);
  if (!options.ephemeral && !(options.demo && options.data_dir.empty()))
    parts.data_dir = options.data_dir.empty() ? default_data_dir() : options.data_dir;
  parts.fsync = options.fsync;
  parts.salvage = options.salvage;
  parts.default_storage = true;
  auto manifests = read_manifests(options.apply);
  if (!manifests) return tl::unexpected(manifests.error());
  plan.manifests = *std::move(manifests);
  if (without(options, "scheduler")) {
    parts.scheduler.reset();
  } else {
    auto config = load_scheduler_config(options.scheduler_config);
    if (!config) return tl::unexpected(config.error());
    parts.scheduler = *std::move(config);
    // Who brings a configuration says in it whether executors are to find their slots.
    if (options.scheduler_config.empty())
      for (scheduler::ProfileConfig& profile : parts.scheduler->profiles)
        scheduler::enable_slots(profile.spec);
  }
  parts.controllers =
      without(options, "controllers") ? std::vector<std::string>() : split(options.controllers);
  if (Result<Ok> good = read_lab(options, parts); !good) return tl::unexpected(good.error());
  if (parts.lab && plan.cluster.speed.mode == cluster::Speed::Mode::kMax)
    parts.lab->heartbeat = lab::Heartbeat::kOnDemand;
  // At full speed nobody looks on, and a simulation has better things to do.
  if (parts.lab)
    parts.lab->events =
        options.events == "on" ||
        (options.events == "auto" && plan.cluster.speed.mode != cluster::Speed::Mode::kMax);
  if (auto good = controllers::make_controllers(parts.controllers); !good)
    return tl::unexpected(usage_error("--controllers: " + good.error().message));
  auto job_kinds = read_job_kinds(options.job_kinds);
  if (!job_kinds) return tl::unexpected(job_kinds.error());
  parts.job_kinds = *std::move(job_kinds);
  parts.executors = options.executors;
  auto identity = options.address.identity(parts.data_dir);
  if (!identity) return tl::unexpected(identity.error());
  plan.cluster.identity = *std::move(identity);
  parts.token_key = plan.cluster.identity.token_key;
  parts.ca_pem = plan.cluster.identity.authority.certificate_pem;
  // The same at every start with the same data, so that an open page goes on.
  parts.owner_token = net::sha256_hex("the page's token " + parts.token_key).substr(0, 40);
  return plan;
}

// Everything that lives as long as the command. Made and destroyed on the main loop.
class Up {
 public:
  // `outliving` outlives the runtime's threads.
  Up(Runtime& real, Scope& scope, const Plan& plan, const UpOptions& options, Context& context,
     std::shared_ptr<void>& outliving, Finish finish)
      : outliving_(outliving),
        real_(real),
        scope_(scope),
        plan_(plan),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        log_(stderr_sink(), scope.executor().clock(),
             log_level_named(options.log_level).value_or(LogLevel::kWarn)),
        cluster_(real, metrics_, log_, watched(plan.cluster)) {}

  ~Up() {
    // It leads nowhere any more; another's that was written there meanwhile may.
    if (!plan_.cluster.cluster.data_dir && !kubeconfig_.empty())
      if (const auto now = read_named_file(options_.kubeconfig_out); now && *now == kubeconfig_)
        ::unlink(options_.kubeconfig_out.c_str());
  }

  void start() {
    cluster_.start([this](Result<std::string> url) {
      scope_.executor().post([this, url = std::move(url)] { on_ready(url); });
    });
  }

 private:
  cluster::ReachableOptions watched(cluster::ReachableOptions options) {
    if (without(options_, "gateway")) return options;
    options.cluster.watch_scheduler = &tap_;
    // It takes its port when the cluster runs.
    options.cluster.gateway = [port = gateway_port_] {
      return *port == 0 ? std::string() : fmt::format("http://127.0.0.1:{}", port->load());
    };
    return options;
  }

  void on_ready(const Result<std::string>& url) {
    if (scope_.closing()) return;
    if (!url) {
      Error error = url.error();
      if (error.reason == Reason::kUnreachable) error.message += "; --port 0 takes a free port";
      return finish_(tl::unexpected(std::move(error)));
    }
    const std::string kubeconfig = cluster::kubeconfig_for(plan_.cluster.identity, *url);
    if (Result<Ok> written = cluster::write_private_file(options_.kubeconfig_out, kubeconfig);
        !written)
      return finish_(tl::unexpected(written.error()));
    kubeconfig_ = kubeconfig;
    auto config =
        client::choose_cluster(client::Surroundings::real(),
                               {.kubeconfig = options_.kubeconfig_out, .context = "", .ns = ""});
    if (!config) return finish_(tl::unexpected(config.error()));
    config->url.origin.host = options_.address.for_ourselves();
    auto itself = client::HttpTransport::create(real_, *std::move(config), log_);
    if (!itself) return finish_(tl::unexpected(itself.error()));
    itself_ = *std::move(itself);
    if (Result<Ok> started = start_gateway(); !started)
      return finish_(tl::unexpected(started.error()));
    if (plan_.manifests.empty()) return tell(*url);
    applier_ =
        std::make_unique<cluster::Applier>(scope_, *itself_, Random::from_entropy(), "berth-up");
    applier_->apply(plan_.manifests, [this, url = *url](const auto& refused) {
      for (const cluster::ApplyError& one : refused)
        context_.err << fmt::format("berth up: {}\n", one.text());
      if (!refused.empty())
        context_.err << fmt::format(
            "berth up: {} of {} objects of --apply were refused; the cluster runs without them\n",
            refused.size(), plan_.manifests.size());
      tell(url);
    });
  }

  Result<Ok> start_gateway() {
    if (without(options_, "gateway")) return Ok{};
    way_in_ = cluster_.owner();
    GatewayPlan plan;
    plan.port = static_cast<std::uint16_t>(options_.ui_port);
    if (auto clock = cluster_.clock()) {
      plan.home = std::make_shared<cluster::OnClusterTime>(real_.loop("gateway"), std::move(clock));
      outliving_ = plan.home;
    }
    plan.also = [this](Scope& scope, gateway::Gateway& gateway, gateway::Scavengers&) {
      return scheduler_pages(scope, gateway);
    };
    gateway_ = std::make_unique<RunningGateway>(real_, way_in_ ? *way_in_ : *itself_, metrics_,
                                                log_, std::move(plan));
    const auto ports = gateway_->start();
    if (!ports) return tl::unexpected(ports.error());
    *gateway_port_ = ports->main;
    page_ = fmt::format("http://127.0.0.1:{}/ui/#token={}", ports->main,
                        plan_.cluster.cluster.owner_token);
    return Ok{};
  }

  // What the page shows of the scheduler.
  std::shared_ptr<void> scheduler_pages(Scope& scope, gateway::Gateway& gateway) {
    const auto& config = plan_.cluster.cluster.scheduler;
    if (!config) return nullptr;
    gateway::HubOptions options{.version = BERTH_VERSION};
    for (const scheduler::ProfileConfig& profile : config->profiles)
      options.profiles.push_back(profile.spec);
    auto hub = std::make_shared<gateway::Hub>(scope, real_, way_in_ ? *way_in_ : *itself_,
                                              Random::from_entropy(), tap_,
                                              cluster_.scheduler_loop(), std::move(options));
    hub->mount(gateway.routes());
    return hub;
  }

  void tell(const std::string& url) {
    const std::string path = fs::absolute(options_.kubeconfig_out).string();
    const std::string next = fmt::format(
        "  export KUBECONFIG={}\n"
        "  kubectl get nodes\n"
        "  kubectl create deployment web --image=web:1 --replicas=5\n"
        "  kubectl get pods -A -o wide\n"
        "{}"
        "Ctrl-C stops it; {}.\n",
        path, page_.empty() ? std::string() : fmt::format("Or see it in a browser: {}\n", page_),
        plan_.cluster.cluster.data_dir ? fmt::format("what there is stays in {} for the next start",
                                                     plan_.cluster.cluster.data_dir->string())
                                       : std::string("nothing is kept (--data-dir DIR keeps it)"));
    if (!options_.demo) {
      context_.out << fmt::format("A Kubernetes cluster is up at {}. Type in another terminal:\n{}",
                                  url, next)
                   << std::flush;
      return;
    }
    const std::string footer = fmt::format("Look at it yourself, in another terminal:\n{}", next);
    if (!context_.terminal) context_.out << footer << std::flush;
    demo_ = std::make_unique<Demo>(scope_, *itself_, Random::from_entropy(), context_, footer);
    demo_->start();
  }

  std::shared_ptr<void>& outliving_;
  Runtime& real_;
  Scope& scope_;
  const Plan& plan_;
  const UpOptions& options_;
  Context& context_;
  Finish finish_;
  Logger log_;
  Metrics metrics_;
  std::string kubeconfig_;  // that was written
  gateway::Tap tap_;
  const std::shared_ptr<std::atomic<std::uint16_t>> gateway_port_ =
      std::make_shared<std::atomic<std::uint16_t>>(0);  // 0: it does not run yet
  cluster::ReachableCluster cluster_;
  std::unique_ptr<client::Transport> itself_;
  std::unique_ptr<client::Transport> way_in_;  // null where time is virtual
  std::unique_ptr<RunningGateway> gateway_;
  std::string page_;
  std::unique_ptr<cluster::Applier> applier_;
  std::unique_ptr<Demo> demo_;
};

// A watch is a connection, and a busy cluster has thousands.
void allow_many_connections() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

Result<int> run_up(const UpOptions& options, Context& context) {
  const Result<Plan> plan = plan_of(options);
  if (!plan) return tl::unexpected(plan.error());
  allow_many_connections();
  std::shared_ptr<void> outliving;
  return run_on_loop(kExitOk, [&](Runtime& runtime, Scope& scope, const Logger&, Finish finish) {
    auto up =
        std::make_shared<Up>(runtime, scope, *plan, options, context, outliving, std::move(finish));
    up->start();
    return up;
  });
}

}  // namespace

Command up() {
  auto options = std::make_shared<UpOptions>();
  Command command("up", "Start a Kubernetes cluster in this process, with simulated nodes");
  command
      .flag(
          "--nodes", &options->nodes,
          "how many nodes, or a file with Node manifests; default: 10 in a new cluster, those that "
          "there are in any other",
          "N|FILE")
      .flag("--port", &options->port, "serve the API here; 0: on a free port", "PORT")
      .flag("--bind-address", &options->address.bound, "and on this address", "IP")
      .flag("--advertise-address", &options->address.advertised,
            "by which others find it; default: the bound one, or the host's", "IP")
      .flag("--ui-port", &options->ui_port,
            "serve the external-scheduler interface and the page here, on 127.0.0.1; 0: on a free "
            "port",
            "PORT")
      .flag("--kubeconfig-out", &options->kubeconfig_out,
            "where to write the kubeconfig, once the server is ready", "FILE")
      .flag("--data-dir", &options->data_dir,
            "keep everything here and go on with it at the next start; default: "
            "~/.local/state/berth/up",
            "DIR")
      .flag("--ephemeral", &options->ephemeral, "keep nothing")
      .flag("--fsync", &options->fsync, "survive a power cut, not only a crash of the process")
      .flag("--salvage", &options->salvage,
            "start with what is intact of damaged data, and list what is lost")
      .flag("--apply", &options->apply, "apply the manifests in this file or folder", "DIR")
      .flag("--speed", &options->speed,
            "how fast time passes: real, a factor like x60, or max (as long as there is work)",
            "SPEED")
      .flag("--demo", &options->demo, "create workloads and show where their pods go")
      .flag("--stages", &options->stages, "how pods and nodes live: KWOK Stage files", "FILE")
      .flag("--usage", &options->usage,
            "what containers use: KWOK ResourceUsage and ClusterResourceUsage files", "FILE")
      .choice("--events", &options->events, {"auto", "on", "off"},
              "tell what kubelets tell; auto: not at full speed")
      .flag("--without", &options->without, "leave out: scheduler, controllers, nodes, gateway",
            "PART")
      .flag("--scheduler-config", &options->scheduler_config, "a KubeSchedulerConfiguration (v1)",
            "FILE")
      .flag("--controllers", &options->controllers,
            "which controllers, as kube-controller-manager's flag", "LIST")
      .flag("--job-kinds", &options->job_kinds,
            "kinds of applications besides the built-in ones: a folder of files", "DIR")
      .flag("--executor-scheduler", &options->executors.scheduler,
            "who is to place executors; default: whom their job names, or the cluster's", "NAME")
      .flag("--slot-resource", &options->executors.slot_resource,
            "executors request berth.dev/slot, for a scheduler that asks its extender about those "
            "alone")
      .flag("--seed", &options->seed, "of everything that is drawn", "N")
      .choice("--log-level", &options->log_level, {"debug", "info", "warn", "error"},
              "what is written to standard error")
      .example("berth up --demo")
      .example("berth up --nodes 100 --ephemeral --port 0 --kubeconfig-out lab.kubeconfig")
      .run([options](Context& context) { return run_up(*options, context); });
  return command;
}

}  // namespace berth::cli
