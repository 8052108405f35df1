// SPDX-License-Identifier: Apache-2.0
#include "controllers/stand_ins/stand_in.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/stand_ins/operator_shape.h"
#include "json/writer.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using json::Writer;

constexpr Duration kDefaultDuration = 30s;
constexpr std::string_view kPart = "berth.dev/stand-in";  // of its pods: the application's name
constexpr std::string_view kByNode = "stand-in-node";
std::vector<std::string> node_of_part(const Object& pod) {
  if (pod.label(kPart).empty()) return {};
  const std::string node = pod.member("spec")["nodeName"].text();
  return node.empty() ? std::vector<std::string>() : std::vector<std::string>{node};
}

// How much of its work is done, and since when at which speed. Kept from run to run; an operator
// that starts anew counts from there.
struct Progress {
  double done = 0;  // seconds of work
  WallTime at{};
  double speed = 0;

  static Progress parse(std::string_view text, WallTime now) {
    Progress read{.at = now};
    const std::size_t first = text.find(' ');
    const std::size_t second = text.find(' ', first + 1);
    if (first == text.npos || second == text.npos) return read;
    const auto number = [](std::string_view digits, auto& into) {
      std::from_chars(digits.data(), digits.data() + digits.size(), into);
    };
    number(text.substr(0, first), read.done);
    number(text.substr(first + 1, second - first - 1), read.at.unix_nanos);
    number(text.substr(second + 1), read.speed);
    return read;
  }
  std::string text() const { return fmt::format("{} {} {}", done, at.unix_nanos, speed); }
};

class StandIn final : public Controller {
 public:
  StandIn(std::string name, const OperatorShape& shape)
      : name_(std::move(name)),
        shape_(shape),
        kind_(kube::learn_kind({std::string(shape.group), std::string(shape.version),
                                std::string(shape.kind), std::string(shape.plural)})) {}

  Spec spec() const override {
    Spec spec(name_);
    spec.reconciles(kind_)
        .index(kube::kPod, kByNode, &node_of_part)
        .index_by_controller(kube::kPod);
    // A pod of any application slows its neighbours.
    spec.watches(kube::kPod,
                 each_state([](const View& view, const Object& pod, std::vector<Key>& wake) {
                   const std::string name = pod.label(kPart);
                   if (name.empty()) return;
                   wake.push_back({std::string(pod.ns()), name});
                   for (const std::string& node : node_of_part(pod))
                     for (const Object* beside : view.by_index(kube::kPod, kByNode, node))
                       if (beside->label(kPart) != name)
                         wake.push_back({std::string(beside->ns()), beside->label(kPart)});
                 }));
    return spec.creates(kube::kPod).erases(kube::kPod).patches_status(kind_);
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* app = view.get(kind_, key);
    if (app == nullptr || app->deleting()) return Plan::done();
    Plan plan;
    std::map<std::string, const Object*> pods;
    for (const Object* pod : view.by_index(kube::kPod, kByController, app->uid()))
      pods.emplace(pod->name(), pod);

    Told told{.stage = shape_.stage(app->status()), .now = now};
    const WantedPod leader = shape_.leader(*app);
    told.leader = leader.name;
    const std::int64_t wanted = shape_.executors(app->member("spec"));
    if (told.stage >= Stage::kCompleted) return clear(plan, pods);

    const auto lead = pods.find(leader.name);
    if (lead == pods.end()) create(plan, *app, leader, "leader");
    const bool led = lead != pods.end() && runs(*lead->second);
    std::vector<const Object*> running;
    if (led) tend_executors(plan, *app, pods, wanted, told, running);
    const std::int64_t needed = std::min(wanted, shape_.needed(app->member("spec")));
    told.stage = !led                                                 ? Stage::kSubmitted
                 : static_cast<std::int64_t>(running.size()) < needed ? Stage::kStarting
                                                                      : Stage::kRunning;

    Progress progress = Progress::parse(view.remembered(), now);
    progress.done +=
        static_cast<double>((now.unix_nanos - progress.at.unix_nanos)) * 1e-9 * progress.speed;
    progress.at = now;
    progress.speed = told.stage == Stage::kRunning ? 1 / slowdown(view, *app, running) : 0;
    const double duration = std::chrono::duration<double>(asked_duration(*app)).count();
    if (progress.speed > 0 && progress.done >= duration - 1e-6) {
      const bool fails =
          !note(*app, "berth.dev/exit-code").empty() && note(*app, "berth.dev/exit-code") != "0";
      told.stage = fails ? Stage::kFailed : Stage::kCompleted;
      clear(plan, pods);
    } else if (progress.speed > 0) {
      const auto left = std::chrono::duration_cast<Duration>(
          std::chrono::duration<double>((duration - progress.done) / progress.speed));
      plan.again_at(now + left + 1ms);
    }
    plan.remember(progress.text());

    StatusDraft status(app->status());
    shape_.tell(status, told);
    plan.set_status(*app, status.json());
    return plan;
  }

 private:
  static bool runs(const Object& pod) {
    return pod.status()["phase"].equals("Running") && !pod.deleting();
  }

  std::string note(const Object& app, std::string_view name) const {
    return shape_.leader_annotations(app.member("spec"))[name].text();
  }
  Duration asked_duration(const Object& app) const {
    return kube::parse_duration(note(app, "berth.dev/duration")).value_or(kDefaultDuration);
  }

  void tend_executors(Plan& plan, const Object& app,
                      const std::map<std::string, const Object*>& pods, std::int64_t wanted,
                      Told& told, std::vector<const Object*>& running) const {
    for (std::int64_t i = 0; i < wanted; ++i) {
      const WantedPod pod = shape_.executor(app, i);
      const auto found = pods.find(pod.name);
      if (found == pods.end()) {
        create(plan, app, pod, "executor");
        told.executors.emplace(pod.name, "Pending");
        continue;
      }
      told.executors.emplace(pod.name, found->second->status()["phase"].text());
      if (runs(*found->second)) running.push_back(found->second);
      // One that died is replaced once it is gone, as both frameworks do.
      if (pod_ended(*found->second) && !found->second->deleting())
        plan.erase(*found->second, kube::Propagation::kBackground, Pin::kUid);
    }
    for (const auto& [name, pod] : pods) {
      const bool extra = told.executors.count(name) == 0 && name != told.leader;
      if (extra && !pod->deleting()) plan.erase(*pod, kube::Propagation::kBackground, Pin::kUid);
    }
  }

  void create(Plan& plan, const Object& app, const WantedPod& pod, std::string_view role) const {
    Writer w;
    w.object()
        .member("metadata")
        .object()
        .member("name")
        .string(pod.name)
        .member("namespace")
        .string(app.ns());
    w.member("labels")
        .object()
        .member(kPart)
        .string(app.name())
        .member("berth.dev/stand-in-role")
        .string(role);
    for (const auto& [name, value] : pod.labels) w.member(name).string(value);
    // The leader carries how long the application runs; its pods run until they are removed.
    w.end().member("annotations").object();
    for (const auto [name, value] : Slice(pod.annotations).members())
      if (name != "berth.dev/duration" && name != "berth.dev/exit-code")
        w.member(name).raw(value.raw());
    w.end().member("ownerReferences").array().raw(controller_ref(app)).end().end();
    w.member("spec").raw(pod.spec).end();
    plan.create(kube::kPod, {std::string(app.ns()), pod.name}, w.take());
  }

  Plan clear(Plan& plan, const std::map<std::string, const Object*>& pods) const {
    for (const auto& [name, pod] : pods)
      if (!pod->deleting()) plan.erase(*pod, kube::Propagation::kBackground, Pin::kUid);
    return std::move(plan);
  }

  // The slowest executor decides: of all that run beside each, the product.
  double slowdown(const View& view, const Object& app,
                  const std::vector<const Object*>& executors) const {
    const std::string text = note(app, "berth.dev/slowed-by");
    std::map<std::string, double> by;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string_view word = std::string_view(text).substr(at, end - at);
      const std::size_t equals = word.find('=');
      double factor = 1;
      if (equals != word.npos) {
        std::from_chars(word.data() + equals + 1, word.data() + word.size(), factor);
        if (factor > 0) by[std::string(word.substr(0, equals))] = factor;
      }
      at = end + 1;
    }
    double worst = 1;
    for (const Object* pod : executors) {
      double here = 1;
      std::set<std::string> beside;
      for (const std::string& node : node_of_part(*pod))
        for (const Object* other : view.by_index(kube::kPod, kByNode, node))
          if (runs(*other) && other->label("berth.dev/stand-in-role") == "executor")
            beside.insert(other->label(kPart));
      beside.erase(std::string(app.name()));
      for (const std::string& other : beside)
        if (const auto factor = by.find(other); factor != by.end()) here *= factor->second;
      worst = std::max(worst, here);
    }
    return worst;
  }

  std::string name_;
  const OperatorShape& shape_;
  KindId kind_;
};

}  // namespace

std::unique_ptr<runtime::Controller> make_spark_stand_in() {
  return std::make_unique<StandIn>("spark-stand-in", operator_shapes()[0]);
}
std::unique_ptr<runtime::Controller> make_flink_stand_in() {
  return std::make_unique<StandIn>("flink-stand-in", operator_shapes()[1]);
}
std::unique_ptr<runtime::Controller> make_flink_cluster_stand_in() {
  return std::make_unique<StandIn>("flinkcluster-stand-in", operator_shapes()[2]);
}

std::vector<std::string> stand_in_definitions() {
  std::vector<std::string> all;
  for (const OperatorShape& shape : operator_shapes()) {
    std::string singular(shape.kind);
    std::transform(singular.begin(), singular.end(), singular.begin(),
                   [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    all.push_back(fmt::format(
        R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{1}.{0}"}},"spec":{{"group":"{0}","scope":"Namespaced","names":{{"kind":"{2}","listKind":"{2}List","plural":"{1}","singular":"{3}"}},"versions":[{{"name":"{4}","served":true,"storage":true,"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"status":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}}}}}]}}}})",
        shape.group, shape.plural, shape.kind, singular, shape.version));
  }
  return all;
}

}  // namespace berth::controllers
