// SPDX-License-Identifier: Apache-2.0
#include "cli/up_demo.h"

#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/capacity_report.h"
#include "cli/manifests.h"
#include "kube/pod_view.h"

namespace berth::cli {
namespace {

constexpr std::size_t kLatest = 8;  // placements shown below the nodes

struct Act {
  Duration after;  // the one before
  std::string_view title;
  std::string_view manifests;
  int web = 0;  // replicas that it is scaled to; 0: it is left alone
};

constexpr std::array<Act, 4> kActs{{
    {0s, "A shop: a web tier spread over the zones, and a cache with one pod a node at most",
     R"(
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
      containers:
      - name: web
        image: registry.example/web:1.0
        resources: {requests: {cpu: 500m, memory: 1Gi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: cache}}
      containers:
      - name: cache
        image: registry.example/cache:1.0
        resources: {requests: {cpu: "1", memory: 4Gi}}
)"},
    {6s, "Research: a Job of 24 pods, eight at a time, each done after a few seconds", R"(
apiVersion: v1
kind: Namespace
metadata: {name: research}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, namespace: research}
spec:
  completions: 24
  parallelism: 8
  completionMode: Indexed
  template:
    metadata:
      annotations: {berth.dev/duration: 5s}
    spec:
      restartPolicy: Never
      containers:
      - name: sweep
        image: registry.example/sweep:1.0
        resources: {requests: {cpu: "2", memory: 2Gi}}
)"},
    {10s, "The shop has a busy hour: web goes from 9 to 18 pods", "", 18},
    {8s, "An urgent forecast: three large pods that go before, and in the place of, lesser ones",
     R"(
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: forecast, namespace: research}
spec:
  replicas: 3
  selector: {matchLabels: {app: forecast}}
  template:
    metadata: {labels: {app: forecast}}
    spec:
      priorityClassName: urgent
      containers:
      - name: forecast
        image: registry.example/forecast:1.0
        resources: {requests: {cpu: "5", memory: 8Gi}}
)"},
}};

std::vector<kube::Object> parsed(std::string_view manifests) {
  Manifests all;
  const Result<Ok> read = all.add("demo", manifests);
  BERTH_CHECK(read.has_value(), "the demo's manifests cannot be read");
  return all.all();
}

std::vector<kube::Object> objects(const client::Informer<>& informer) {
  std::vector<kube::Object> all;
  informer.for_each([&](const kube::Key&, const kube::Object& object) { all.push_back(object); });
  return all;
}

}  // namespace

Demo::Demo(Scope& scope, client::Transport& transport, Random random, Context& context,
           std::string footer)
    : scope_(scope),
      context_(context),
      footer_(std::move(footer)),
      api_(scope, transport, random.fork("api"), nullptr, {.attempts = 3}),
      applier_(scope, transport, random.fork("apply"), "berth-demo"),
      nodes_(scope, transport, random.fork("nodes"), {.feed = {.kind = kube::kNode}}),
      pods_(scope, transport, random.fork("pods"), {.feed = {.kind = kube::kPod}}) {}

void Demo::start() {
  nodes_.add_handler({.added = [this](const auto&) { changed(); },
                      .updated = [this](const auto&, const auto&) { changed(); },
                      .deleted = [this](const auto&) { changed(); }});
  pods_.add_handler({.added = [this](const kube::Object& pod) { pod_changed(nullptr, pod); },
                     .updated = [this](const kube::Object& before,
                                       const kube::Object& after) { pod_changed(&before, after); },
                     .deleted = [this](const auto&) { changed(); }});
  nodes_.start();
  pods_.start();
  act(0);
}

void Demo::act(std::size_t number) {
  if (number == kActs.size()) return;
  scope_.after(kActs[number].after, [this, number] {
    title_ = kActs[number].title;
    if (!context_.terminal) context_.out << "\n# " << title_ << "\n" << std::flush;
    if (kActs[number].web > 0) scale_web(kActs[number].web);
    applier_.apply(parsed(kActs[number].manifests), [this](const auto& refused) {
      for (const cluster::ApplyError& one : refused) context_.err << one.text() << "\n";
    });
    act(number + 1);
  });
}

void Demo::scale_web(int replicas) {
  api_.patch(kube::kDeployment, {"shop", "web"},
             fmt::format(R"({{"spec":{{"replicas":{}}}}})", replicas), kube::PatchType::kMerge,
             scope_.done<kube::Object>(1min,
                                       [this](const Result<kube::Object>& scaled) {
                                         if (!scaled)
                                           context_.err
                                               << fmt::format("web: {}\n", scaled.error().message);
                                       }),
             "scale");
}

void Demo::pod_changed(const kube::Object* before, const kube::Object& after) {
  changed();
  const kube::PodView pod(after);
  if (!pod.assigned() || (before != nullptr && kube::PodView(*before).assigned())) return;
  const std::string line = fmt::format("{} -> {}", after.key().text(), pod.node_name());
  if (!context_.terminal) context_.out << line << "\n" << std::flush;
  latest_.push_front(line);
  if (latest_.size() > kLatest) latest_.pop_back();
}

void Demo::changed() {
  if (due_ || !context_.terminal) return;
  due_ = true;
  scope_.after(500ms, [this] {
    due_ = false;
    draw();
  });
}

void Demo::draw() {
  const Result<CapacityReport> report = capacity_report(
      objects(nodes_), objects(pods_), false, [](const auto&, auto) { return std::string(); });
  if (!report) return;
  context_.out << "\x1b[H\x1b[2J" << title_ << "\n\n";
  print_capacity(*report, context_);
  context_.out << "\nPlaced last:\n";
  for (const std::string& line : latest_) context_.out << "  " << line << "\n";
  context_.out << "\n" << footer_ << std::flush;
}

}  // namespace berth::cli
