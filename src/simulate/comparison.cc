// SPDX-License-Identifier: Apache-2.0
#include "simulate/comparison.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "apiserver/store/table.h"
#include "base/check.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "kube/ours/ours.h"
#include "simulate/contenders.h"
#include "simulate/measures.h"
#include "simulate/programs.h"

namespace berth::simulate {
namespace {

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }
double hours(double core_seconds) { return core_seconds / 3600; }

std::string pod_json(const TracePod& pod, std::size_t number) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"ordinary-{:06}","namespace":"default","annotations":{{"berth.dev/duration":"{}s"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main","image":"ordinary","resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}}}]}}}})",
      number, std::max(1.0, seconds(pod.runs)), pod.cpu_milli, pod.memory_mib);
}

void take_waits(Outcome& outcome, std::vector<Duration> ascending) {
  outcome.wait_p50 = quantile(ascending, 0.5);
  outcome.wait_p99 = quantile(ascending, 0.99);
  outcome.wait_most = quantile(ascending, 1);
  outcome.waits = std::move(ascending);
}

// One life of the cluster. Confined to its world.
class Life {
 public:
  Life(const Scenario& scenario, Variant setup)
      : scenario_(scenario), setup_(setup), world_(scenario.seed) {}

  Result<Outcome> run() {
    start();
    if (const auto failure = failure_) return stopped(tl::unexpected(*failure));
    submit();
    pass_time();
    return stopped(outcome());
  }

 private:
  void start();
  void submit();
  void pass_time();
  void create(kube::KindId, std::string ns, std::string json);
  void on_change(const apiserver::HistoryEvent&);
  Outcome outcome();
  Result<Outcome> stopped(Result<Outcome>);
  cluster::ClusterOptions options();

  const Scenario& scenario_;
  const Variant setup_;
  World world_;
  Metrics metrics_;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<client::Transport> transport_;
  std::unique_ptr<Contender> contender_;
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<client::Api> api_;
  std::unique_ptr<Programs> programs_;
  std::unique_ptr<Measures> measures_;
  Instant begin_{};
  std::optional<Error> failure_;
};

cluster::ClusterOptions Life::options() {
  cluster::ClusterOptions options{.token_key = "simulated"};
  options.lab->nodes = static_cast<std::size_t>(scenario_.nodes);
  options.lab->node.capacity["cpu"] = fmt::format("{}", scenario_.node_cores);
  options.lab->node.capacity["memory"] = fmt::format("{}Gi", scenario_.node_gib);
  options.lab->heartbeat = lab::Heartbeat::kOnDemand;
  options.lab->pace.stop = {0s, std::chrono::seconds(scenario_.grace_seconds)};
  // Whoever else could take part would have nothing to do.
  options.controllers = {"serviceaccount-controller", "node-lifecycle-controller", "job-controller",
                         "garbage-collector-controller"};
  // With the operator comes its admission, which lets nobody else lie below ordinary pods.
  if (setup_ != Variant::kNone && setup_ != Variant::kPlain)
    for (const char* name : {"scavenger-controller", "scavenger-queue-controller"})
      options.controllers.emplace_back(name);
  options.observe = [this](const apiserver::HistoryEvent& event) { on_change(event); };
  return options;
}

void Life::start() {
  const Logger log(stderr_sink(), world_.clock(), LogLevel::kError);
  cluster_ =
      std::make_unique<cluster::Cluster>(world_, metrics_, log, Random(scenario_.seed), options());
  bool ready = false;
  cluster_->start([&](const Result<Ok>& started) {
    ready = true;
    if (!started) failure_ = started.error();
  });
  world_.run_for(10s);
  if (!ready) failure_ = Error{.reason = Reason::kTimeout, .message = "the cluster did not start"};
  if (failure_) return;
  transport_ = cluster_->owner();
  contender_ =
      std::make_unique<Contender>(world_, *transport_, metrics_, log, scenario_.seed, setup_);
  contender_->start();
  world_.run_for(1s);
  scope_ = std::make_unique<Scope>(world_.loop("user"), "user");
  api_ = std::make_unique<client::Api>(*scope_, *transport_, Random(scenario_.seed).fork("user"));
  programs_ = std::make_unique<Programs>(*scope_, *api_, scenario_.programs,
                                         Random(scenario_.seed).fork("programs"));
  begin_ = world_.clock().now();
  measures_ = std::make_unique<Measures>(begin_, scenario_.bucket);
}

// Changes are told while they are made; what answers them is done on a loop of its own.
void Life::on_change(const apiserver::HistoryEvent& event) {
  if (event.after.kind() != kube::kPod || measures_ == nullptr) return;
  const bool scavenges = !program_of_pod(event.after.name()).empty();
  measures_->on_pod(event.after, event.deleted, !scavenges, event.at);
  if (scavenges)
    scope_->executor().post([this, pod = event.after, gone = event.deleted] {
      if (programs_ != nullptr) programs_->on_pod(pod, gone);
    });
}

void Life::create(kube::KindId kind, std::string ns, std::string json) {
  api_->create(kind, std::move(ns), std::move(json),
               scope_->done<kube::Object>(1min, [this](const Result<kube::Object>& made) {
                 if (!made && !failure_) failure_ = made.error();
               }));
}

void Life::submit() {
  if (setup_ == Variant::kNone) return;
  const Form form = setup_ == Variant::kPlain ? Form::kPlainJob : Form::kScavengerJob;
  if (form == Form::kPlainJob) create(kube::kPriorityClass, "", plain_job_class());
  if (setup_ == Variant::kPacked) create(kube::scavenger_kinds().policy, "", packing_policy());
  world_.run_for(1s);
  for (const Program& program : scenario_.programs) {
    const std::string json = manifest_of(program, form, scenario_.grace_seconds);
    const auto object = kube::Object::parse(json);
    BERTH_CHECK(object.has_value(), "a manifest of our own is well-formed");
    create(object->kind(), "default", json);
  }
}

void Life::pass_time() {
  std::size_t number = 0;
  for (const TracePod& pod : scenario_.trace.pods) {
    if (pod.arrives >= scenario_.length) break;
    const Instant due = begin_ + pod.arrives;
    if (due > world_.clock().now()) world_.run_for(due - world_.clock().now());
    create(kube::kPod, "default", pod_json(pod, number++));
  }
  const Instant end = begin_ + scenario_.length;
  if (end > world_.clock().now()) world_.run_for(end - world_.clock().now());
  measures_->end(world_.clock().now());
}

Outcome Life::outcome() {
  std::vector<Duration> waits = measures_->waits();
  const Account& account = programs_->account();
  Outcome result{.setup = setup_, .ordinary_pods = waits.size()};
  result.never_placed = measures_->never_placed();
  const double cores = scenario_.cores();
  result.ordinary_utilisation = measures_->ordinary().mean() / cores;
  result.utilisation = result.ordinary_utilisation + measures_->scavenging().mean() / cores;
  take_waits(result, std::move(waits));
  result.held_core_hours = hours(measures_->scavenging().integral());
  result.useful_core_hours = hours(account.useful_core_seconds);
  result.lost_core_hours = hours(account.lost_core_seconds);
  result.interruptions = account.interruptions;
  result.completed = account.completed;
  result.started = account.started;
  const std::vector<double> ordinary = measures_->ordinary().means();
  const std::vector<double> scavenging = measures_->scavenging().means();
  auto loss = programs_->losses().begin();
  double lost = 0;
  for (std::size_t i = 0; i < ordinary.size(); ++i) {
    result.utilisation_over_time.push_back((ordinary[i] + scavenging.at(i)) / cores);
    const Instant end = begin_ + static_cast<Duration::rep>(i + 1) * scenario_.bucket;
    for (; loss != programs_->losses().end() && loss->first <= end; ++loss) lost = loss->second;
    result.lost_over_time.push_back(hours(lost));
  }
  return result;
}

Result<Outcome> Life::stopped(Result<Outcome> result) {
  if (scope_) scope_->close(0s, [] {});
  world_.run_for(1s);
  measures_.reset();
  programs_.reset();
  api_.reset();
  scope_.reset();
  if (contender_) contender_->stop();
  cluster_->stop([] {});
  world_.run_for(1min);
  if (result && failure_) return tl::unexpected(*failure_);
  return result;
}

}  // namespace

std::string_view word_of(Variant setup) {
  switch (setup) {
    case Variant::kNone:
      return "none";
    case Variant::kPlain:
      return "plain";
    case Variant::kStock:
      return "stock";
    case Variant::kExtender:
      return "extender";
    case Variant::kOwn:
      return "own";
    case Variant::kPacked:
      return "packed";
  }
  return "";
}

std::string_view title_of(Variant setup) {
  switch (setup) {
    case Variant::kNone:
      return "no scavengers";
    case Variant::kPlain:
      return "plain Jobs";
    case Variant::kStock:
      return "stock order";
    case Variant::kExtender:
      return "stock + extender";
    case Variant::kOwn:
      return "Berth";
    case Variant::kPacked:
      return "Berth, packed";
  }
  return "";
}

Result<Outcome> live(const Scenario& scenario, Variant setup) {
  return Life(scenario, setup).run();
}

Outcome pooled(std::span<const Outcome> lives) {
  Outcome all{.setup = lives.front().setup};
  const double share = 1.0 / static_cast<double>(lives.size());
  std::vector<Duration> waits;
  const auto add = [](std::vector<double>& to, const std::vector<double>& more, double part) {
    to.resize(std::max(to.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) to[i] += part * more[i];
  };
  for (const Outcome& one : lives) {
    all.ordinary_pods += one.ordinary_pods;
    all.never_placed += one.never_placed;
    all.utilisation += share * one.utilisation;
    all.ordinary_utilisation += share * one.ordinary_utilisation;
    all.held_core_hours += one.held_core_hours;
    all.useful_core_hours += one.useful_core_hours;
    all.lost_core_hours += one.lost_core_hours;
    all.interruptions += one.interruptions;
    all.completed += one.completed;
    all.started += one.started;
    waits.insert(waits.end(), one.waits.begin(), one.waits.end());
    add(all.utilisation_over_time, one.utilisation_over_time, share);
    add(all.lost_over_time, one.lost_over_time, share);
    all.lost_by_life.push_back(one.lost_core_hours);
  }
  std::sort(waits.begin(), waits.end());
  take_waits(all, std::move(waits));
  return all;
}

}  // namespace berth::simulate
