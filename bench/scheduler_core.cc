// SPDX-License-Identifier: Apache-2.0
// How many decisions a second the scheduler's core makes: one thread, no queue, no I/O, every node
// filtered and scored, default profile. Nodes vary in size, taints, images and zones; pods belong
// to ReplicaSets, so default spreading is active. A cluster is filled to four pods a node; then
// every step deletes a pod at random and places another one. Rates are by the thread's CPU time
// and hold the decision, the assuming and the deletion; p99 is a decision's by the clock.
//   scheduler_core_bench [nodes [shapes [kind]]]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <time.h>

#include "base/check.h"
#include "base/random.h"
#include "kube/kind.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler {
namespace {

constexpr std::uint32_t kZones = 10, kPodsPerNode = 4;

enum class Kind { kPlain, kSpread, kApart, kNear, kMixed };
constexpr std::pair<Kind, const char*> kKinds[] = {{Kind::kPlain, "plain"},
                                                   {Kind::kSpread, "hard zone spreading"},
                                                   {Kind::kApart, "hostname anti-affinity"},
                                                   {Kind::kNear, "zone affinity"},
                                                   {Kind::kMixed, "all four mixed"}};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

kube::Object object(kube::KindId kind, const std::string& json) {
  Result<kube::Object> made = kube::Object::parse(kind, json);
  BERTH_CHECK(made.has_value(), made ? std::string() : made.error().message);
  return *std::move(made);
}

NodePtr make_node(std::uint32_t number, Random& random) {
  constexpr std::pair<int, int> kSizes[] = {{16, 64}, {32, 128}, {64, 192}};
  const auto [cpu, memory] = kSizes[random.below(3)];
  std::string labels = fmt::format(R"("kubernetes.io/hostname":"node-{}")", number);
  if (!random.chance(0.02))
    labels += fmt::format(R"(,"topology.kubernetes.io/zone":"zone-{}")", random.below(kZones));
  std::string taints, images;
  if (random.chance(0.1))
    taints = random.chance(0.5) ? R"({"key":"dedicated","value":"x","effect":"NoSchedule"})"
                                : R"({"key":"busy","effect":"PreferNoSchedule"})";
  if (random.chance(0.3))
    images = fmt::format(R"({{"names":["registry.example/image-{}:1"],"sizeBytes":{}}})",
                         random.below(20), 300'000'000 + random.below(500'000'000));
  const Result<NodePtr> node = Node::compile(
      object(
          kube::kNode,
          fmt::format(
              R"({{"metadata":{{"name":"node-{0}","uid":"node-{0}","labels":{{{1}}}}},"spec":{{"taints":[{2}]}},)"
              R"("status":{{"allocatable":{{"cpu":"{3}","memory":"{4}Gi","pods":"110","ephemeral-storage":"200Gi"}},"images":[{5}]}}}})",
              number, labels, taints, cpu, memory, images)),
      false);
  BERTH_CHECK(node.has_value());
  return *node;
}

// A ReplicaSet's pod.
PodPtr make_shape(Kind kind, std::uint32_t number, Random& random, PodCompiler& compiler) {
  if (kind == Kind::kMixed) kind = kKinds[number % 4].first;
  const bool sharing = number % 10 == 0;
  const std::string own = fmt::format(R"("app":"rs-{}")", number);
  // A quarter of the selectors is about a label that shapes share, so that they disturb each other.
  const std::string selected =
      number % 4 == 1 && kind != Kind::kNear ? std::string(R"("team":"shared")") : own;
  std::string rules;
  if (kind == Kind::kSpread)
    rules = fmt::format(
        R"(,"topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{{"matchLabels":{{{}}}}}}}])",
        own);
  if (kind == Kind::kApart || kind == Kind::kNear)
    rules = fmt::format(
        R"(,"affinity":{{"{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{}","labelSelector":{{"matchLabels":{{{}}}}}}}]}}}})",
        kind == Kind::kApart ? "podAntiAffinity" : "podAffinity",
        kind == Kind::kApart ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone", selected);
  if (random.chance(0.2)) rules += R"(,"tolerations":[{"operator":"Exists"}])";
  const Result<PodPtr> pod = compiler.compile(object(
      kube::kPod,
      fmt::format(
          R"({{"metadata":{{"name":"rs-{0}","namespace":"default","uid":"rs-{0}","labels":{{{1}{2}}},)"
          R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs-{0}","uid":"rs-{0}","controller":true}}]}},)"
          R"("spec":{{"containers":[{{"name":"main","image":"registry.example/image-{3}:1","resources":{{"requests":{{"cpu":"{4}m","memory":"{5}Mi"}}}}}}]{6}}}}})",
          number, own, sharing ? R"(,"team":"shared")" : "", random.below(20),
          50 * (1 + random.below(10)), 64 * (1 + random.below(10)), rules)));
  BERTH_CHECK(pod.has_value());
  return *pod;
}

class Bench {
 public:
  Bench(Kind kind, std::uint32_t nodes, std::uint32_t shapes)
      : random_(42), profile_(default_profile(), all_plugins(), reasons_, nullptr) {
    cluster_.put_namespace("default", std::make_shared<Labels>());
    for (std::uint32_t i = 0; i < nodes; ++i) {
      cluster_.put_node(make_node(i, random_));
      names_.push_back(fmt::format("node-{}", i));
    }
    for (std::uint32_t i = 0; i < shapes; ++i) {
      cluster_.owners().put(object(
          kube::kReplicaSet,
          fmt::format(
              R"({{"metadata":{{"name":"rs-{0}","namespace":"default","uid":"rs-{0}"}},"spec":{{"selector":{{"matchLabels":{{"app":"rs-{0}"}}}}}}}})",
              i)));
      shapes_.push_back(make_shape(kind, i, random_, compiler_));
    }
    fast_.emplace(profile_, cluster_, reasons_, nullptr, start_,
                  DeciderSpec{.mode = DecideMode::kCached});
    plain_.emplace(profile_, cluster_, reasons_, nullptr, start_);
    // No more than one pod of a shape for two nodes; what is missing comes from elsewhere.
    const std::uint32_t mine = std::min(nodes * kPodsPerNode, shapes * (nodes / 2));
    const PodPtr other = make_shape(Kind::kPlain, 1'000'001, random_, compiler_);
    for (std::uint32_t i = mine; i < nodes * kPodsPerNode; ++i) {
      auto pod = std::make_shared<Pod>(*other);
      pod->uid = pod->name = fmt::format("other-{}", i);
      pod->node_name = names_[random_.below(nodes)];
      cluster_.add_pod(pod);
    }
    const double before = cpu_seconds();
    for (std::uint32_t i = 0; i < mine; ++i) place(*fast_, next_pod());
    fill_rate_ = mine / (cpu_seconds() - before);
  }

  struct Phase {
    double rate = 0, p99_us = 0;
  };
  Phase steady(bool fast, std::uint32_t steps) {
    Decider& decider = fast ? *fast_ : *plain_;
    std::vector<std::shared_ptr<Pod>> pods;
    for (std::uint32_t i = 0; i < steps; ++i) pods.push_back(next_pod());
    std::vector<double> took;
    took.reserve(steps);
    const double before = cpu_seconds();
    for (std::shared_ptr<Pod>& pod : pods) {
      const std::size_t gone = random_.below(placed_.size());
      cluster_.remove_pod(placed_[gone]);
      placed_[gone] = std::move(placed_.back());
      placed_.pop_back();
      const auto begin = std::chrono::steady_clock::now();
      place(decider, std::move(pod));
      took.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
              .count());
    }
    const double seconds = cpu_seconds() - before;
    const auto at = took.begin() + static_cast<std::ptrdiff_t>(took.size() * 99 / 100);
    std::nth_element(took.begin(), at, took.end());
    return {steps / seconds, *at};
  }
  double fill_rate() const { return fill_rate_; }
  const FastPathStats& stats() { return fast_->fast_path().stats(); }
  std::uint64_t refused() const { return refused_; }

 private:
  std::shared_ptr<Pod> next_pod() {
    auto pod = std::make_shared<Pod>(*shapes_[random_.below(shapes_.size())]);
    pod->name = pod->uid = fmt::format("pod-{}", ++pods_);
    return pod;
  }
  void place(Decider& decider, std::shared_ptr<Pod> pod) {
    Decision decision = decider.decide(pod);
    if (!decision.status.ok()) {
      ++refused_;
      return;
    }
    auto placed = std::make_shared<Pod>(*pod);
    placed->node_name = std::move(decision.node);
    placed_.push_back(placed->uid);
    cluster_.assume_pod(std::move(placed));
  }

  Random random_;
  ReasonTable reasons_;
  Profile profile_;
  PodCompiler compiler_;
  ClusterState cluster_;
  SearchStart start_;
  std::vector<std::string> names_;
  std::vector<PodPtr> shapes_;
  std::optional<Decider> fast_, plain_;
  std::vector<std::string> placed_;
  std::uint64_t pods_ = 0, refused_ = 0;
  double fill_rate_ = 0;
};

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

// False: too slow.
bool measure(Kind kind, const char* name, std::uint32_t nodes, std::uint32_t shapes) {
  const std::uint32_t steps = nodes <= 5000 ? 20000 : 6000;
  const std::uint32_t plain_steps = nodes <= 5000 ? 1000 : 100;
  const double must = nodes <= 5000 ? 30000 : 10000;
  Bench bench(kind, nodes, shapes);
  bench.steady(true, steps / 4);
  std::vector<double> fast, p99, plain;
  for (int round = 0; round < 3; ++round) {
    const Bench::Phase phase = bench.steady(true, steps);
    fast.push_back(phase.rate);
    p99.push_back(phase.p99_us);
  }
  for (int round = 0; round < 3; ++round) plain.push_back(bench.steady(false, plain_steps).rate);
  const bool met = median(fast) >= must;
  fmt::print("{:<24} {:>7} {:>7} {:>10.0f} {:>9.1f} {:>10.0f} {:>10.0f} {:>9.0f} {}\n", name, nodes,
             shapes, median(fast), median(p99), median(plain), bench.fill_rate(), must,
             met ? "met" : "MISSED");
  if (std::getenv("BERTH_BENCH_STATS") != nullptr) {
    const FastPathStats& stats = bench.stats();
    fmt::print("  hits {} builds {} first sights {} diagnoses {} refused {}", stats.hits,
               stats.builds, stats.first_sights, stats.diagnoses, bench.refused());
    for (const auto& [why, count] : stats.fallbacks) fmt::print(" {} {}", why, count);
    fmt::print("\n");
  }
  std::fflush(stdout);
  return met;
}

}  // namespace
}  // namespace berth::scheduler

int main(int argc, char** argv) {
  using namespace berth::scheduler;
  fmt::print(
      "Decisions a second in process, one thread, medians of 3 (fast: cached shapes; plain: full "
      "passes)\n");
  fmt::print("{:<24} {:>7} {:>7} {:>10} {:>9} {:>10} {:>10} {:>9}\n", "pods", "nodes", "shapes",
             "fast/s", "p99 us", "plain/s", "filling/s", "must");
  bool met = true;
  for (const std::uint32_t nodes : {5000u, 50000u})
    for (const std::uint32_t shapes : {1u, 200u})
      for (const auto& [kind, name] : kKinds) {
        if (argc > 1 && std::to_string(nodes) != argv[1]) continue;
        if (argc > 2 && std::to_string(shapes) != argv[2]) continue;
        if (argc > 3 && std::string_view(name) != argv[3]) continue;
        if (kind == Kind::kMixed && shapes == 1) continue;
        met = measure(kind, name, nodes, shapes) && met;
      }
  return met ? 0 : 1;
}
