// SPDX-License-Identifier: Apache-2.0
// Says of nodes that fall silent that nobody knows how they are, and keeps taints in step with what
// is known of each. A key is a node, or all zones together, for what has to be decided between
// them.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/node_lifecycle/health.h"
#include "controllers/node_lifecycle/heartbeats.h"
#include "controllers/node_lifecycle/zones.h"
#include "controllers/nodes.h"
#include "controllers/registry.h"
#include "json/writer.h"
#include "kube/lease_view.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kLease;
using kube::kNode;
using kube::kPod;

constexpr Duration kStartupGrace = 60s;  // k8s 1.36
// All nodes are looked at together, so not for each that changes.
constexpr Duration kZonesBatch = 500ms;
constexpr const char* kLeaseNamespace = "kube-node-lease";
const Key kZones{"zones", "all"};

// What of a node's conditions becomes a taint that keeps new pods away.
struct ConditionTaint {
  const char *type, *status;
  std::string_view key;
};
constexpr ConditionTaint kConditionTaints[] = {
    {"Ready", "False", kNotReady},
    {"Ready", "Unknown", kUnreachable},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};
constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";
constexpr const char* kLabels[][2] = {{"kubernetes.io/os", "beta.kubernetes.io/os"},
                                      {"kubernetes.io/arch", "beta.kubernetes.io/arch"}};

// One run for one node.
class Run {
 public:
  Run(const View& view, const ControllerOptions& options, const Object& node, WallTime now)
      : view_(view),
        heartbeats_(options.heartbeats),
        grace_(options.node_grace),
        node_(node),
        now_(now),
        ready_(readiness(node)),
        pulse_(Pulse::parse(view.remembered())) {}

  Plan plan() {
    if (pulse_.uid != node_.uid()) {
      pulse_ = {std::string(node_.uid())};
      tell("RegisteredNode",
           fmt::format("Node {0} event: Registered Node {0} in Controller", node_.name()));
    }
    // What is written about a node is judged by the version that was read: one write a run.
    if (!spec()) health();
    pods();
    plan_.remember(pulse_.text());
    return std::move(plan_);
  }

 private:
  void tell(const char* reason, std::string note) {
    plan_.event(node_, {.reason = reason, .action = reason, .note = std::move(note)});
  }

  bool spec() {
    TaintDraft taints(node_);
    for (const auto& [type, status, key] : kConditionTaints) {
      const bool holds = kube::find_condition(node_.status(), type)["status"].equals(status);
      holds ? taints.add(key, "NoSchedule", now_) : taints.remove(key, "NoSchedule");
    }
    if (node_.member("spec")["unschedulable"].boolean())
      taints.add(kUnschedulable, "NoSchedule", now_);
    else
      taints.remove(kUnschedulable, "NoSchedule");
    swap(taints);
    json::Writer w;
    w.object();
    bool any = taints.changed();
    if (any) w.member("spec").object().member("taints").raw(taints.json()).end();
    any |= labels(w);
    w.end();
    if (any) plan_.patch(node_, w.take());
    return any;
  }

  // Those that remove pods are handed out by zones; once there, they follow the node's state.
  void swap(TaintDraft& taints) {
    const auto instead = [&](std::string_view old_key, std::string_view key) {
      if (!has_taint(node_, old_key, "NoExecute")) return;
      taints.add(key, "NoExecute", now_);
      taints.remove(old_key, "NoExecute");
    };
    if (ready_ == Readiness::kFalse) instead(kUnreachable, kNotReady);
    if (ready_ == Readiness::kUnknown) instead(kNotReady, kUnreachable);
    if (ready_ != Readiness::kTrue) return;
    taints.remove(kUnreachable, "NoExecute");
    taints.remove(kNotReady, "NoExecute");
  }

  bool labels(json::Writer& w) {
    const json::Slice have = node_.labels();
    bool any = false;
    for (const auto& [name, old_name] : kLabels) {
      if (!have[name].present() || have[old_name].equals(have[name].text())) continue;
      if (!any) w.member("metadata").object().member("labels").object();
      w.member(old_name).string(have[name].text());
      any = true;
    }
    if (any) w.end().end();
    return any;
  }

  // The time of the last heartbeat; nothing: it is heard, and somebody will say when that ends.
  std::optional<WallTime> last_heard() {
    if (heartbeats_ != nullptr) return heartbeats_->silent_since(std::string(node_.name()));
    const Object* lease = view_.get(kLease, {kLeaseNamespace, std::string(node_.name())});
    const json::Slice ready = kube::find_condition(node_.status(), "Ready");
    return pulse_.listen(lease == nullptr ? std::nullopt : kube::LeaseView(*lease).renewed(),
                         kube::parse_time(ready["lastHeartbeatTime"].text()),
                         node_.created().value_or(now_), now_);
  }

  void health() {
    const auto heard = last_heard();
    if (!heard) return;
    const WallTime due = *heard + (ready_ == Readiness::kAbsent ? kStartupGrace : grace_);
    if (now_ < due) {
      plan_.again_at(due);
      return;
    }
    if (ready_ == Readiness::kUnknown) return;
    json::Writer w;
    w.object().member("status").object().member("conditions").array();
    for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})
      unknown(w, type);
    w.end().end().end();
    plan_.add(PatchAction{target_of(node_), w.take(), "status", kube::PatchType::kStrategic,
                          Pin::kRevision});
    if (ready_ == Readiness::kTrue)
      tell("NodeNotReady", fmt::format("Node {} status is now: NodeNotReady", node_.name()));
  }

  void unknown(json::Writer& w, const char* type) {
    const json::Slice before = kube::find_condition(node_.status(), type);
    if (before["status"].equals("Unknown")) return;
    w.object().member("type").string(type).member("status").string("Unknown");
    w.member("lastTransitionTime").string(kube::time_text(now_));
    if (before.present()) {
      w.member("reason").string("NodeStatusUnknown");
      w.member("message").string("Kubelet stopped posting node status.");
    } else {
      w.member("reason").string("NodeStatusNeverUpdated");
      w.member("message").string("Kubelet never posted node status.");
      w.member("lastHeartbeatTime").string(kube::time_text(node_.created().value_or(now_)));
    }
    w.end();
  }

  // Pods that were ready when their node was last heard of are not known to be. One that says so
  // afterwards has been heard of since.
  void pods() {
    if (ready_ != Readiness::kUnknown) return;
    const json::Slice ready = kube::find_condition(node_.status(), "Ready");
    const auto lost = kube::parse_time(ready["lastTransitionTime"].text());
    for (const Object* pod : view_.by_index(kPod, kByNode, node_.name())) {
      const json::Slice condition = kube::find_condition(pod->status(), "Ready");
      const auto since = kube::parse_time(condition["lastTransitionTime"].text());
      if (!condition["status"].equals("True") || (lost && since && *since > *lost)) continue;
      patch_pod_condition(plan_, *pod, PodConditionChange{"Ready", "False"}, now_);
      plan_.event(*pod, {.type = client::EventType::kWarning,
                         .reason = "NodeNotReady",
                         .action = "NodeNotReady",
                         .note = "Node is not ready"});
    }
  }

  const View& view_;
  const Heartbeats* heartbeats_;
  Duration grace_;
  const Object& node_;
  WallTime now_;
  Readiness ready_;
  Pulse pulse_;
  Plan plan_;
};

Plan zones(const View& view, WallTime now) {
  Plan plan;
  Turns turns = Turns::parse(view.remembered());
  const Verdict verdict = judge_zones(view.list(kNode), turns, now);
  const auto patch = [&](const Object& node, const TaintDraft& taints) {
    plan.patch(node, fmt::format(R"({{"spec":{{"taints":{}}}}})", taints.json()));
  };
  for (const Object* node : verdict.taint) {
    TaintDraft taints(*node);
    taints.add(readiness(*node) == Readiness::kFalse ? kNotReady : kUnreachable, "NoExecute", now);
    patch(*node, taints);
  }
  for (const Object* node : verdict.clear) {
    TaintDraft taints(*node);
    taints.remove(kNotReady, "NoExecute");
    taints.remove(kUnreachable, "NoExecute");
    patch(*node, taints);
  }
  if (verdict.again) plan.again_at(*verdict.again);
  plan.remember(turns.text());
  return plan;
}

void wake_zones(const View&, const Change& change, std::vector<Key>& wake) {
  const Object *before = change.before, *after = change.after;
  if (before == nullptr || after == nullptr || readiness(*before) != readiness(*after) ||
      zone_of(*before) != zone_of(*after) ||
      no_execute_taints(*before) != no_execute_taints(*after) ||
      before->labels().raw() != after->labels().raw())
    wake.push_back(kZones);
}

// The first heartbeat is when a node's clock is compared with ours; the others are counted later.
void wake_by_lease(const View&, const Change& change, std::vector<Key>& wake) {
  if (change.before == nullptr && change.after->ns() == kLeaseNamespace)
    wake.push_back({"", std::string(change.after->name())});
}

// A pod that comes to a node nobody hears of.
void wake_unheard(const View& view, const Change& change, std::vector<Key>& wake) {
  if (change.after == nullptr) return;
  const auto node = node_of_pod(*change.after);
  if (node.empty() || (change.before != nullptr && node_of_pod(*change.before) == node)) return;
  const Object* found = view.get(kNode, {"", node[0]});
  if (found != nullptr && readiness(*found) == Readiness::kUnknown) wake.push_back({"", node[0]});
}

class NodeLifecycle final : public Controller {
 public:
  explicit NodeLifecycle(ControllerOptions options) : options_(std::move(options)) {}

  Spec spec() const override {
    Spec spec("node-lifecycle-controller");
    spec.reconciles(kNode).watches(kNode, &wake_zones, kZonesBatch).watches(kPod, &wake_unheard);
    spec.index(kPod, kByNode, &node_of_pod);
    spec.patches(kNode).patches_status(kNode).patches_status(kPod).tells();
    if (options_.heartbeats == nullptr) return spec.watches(kLease, &wake_by_lease);
    return spec.woken_from_outside([from = options_.heartbeats](Wake wake) {
      from->subscribe([wake](const std::string& node) { wake({"", node}); });
    });
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key == kZones) return zones(view, now);
    if (const Object* node = view.get(kNode, key)) return Run(view, options_, *node, now).plan();
    const std::string uid = Pulse::parse(view.remembered()).uid;
    Plan plan;
    if (uid.empty()) return plan;
    client::ObjectRef node;
    node.api_version = "v1";
    node.kind = "Node";
    node.name = key.name;
    node.uid = uid;
    plan.add(EventAction{
        std::move(node),
        {.reason = "RemovingNode",
         .action = "RemovingNode",
         .note = fmt::format("Node {0} event: Removing Node {0} from Controller", key.name)}});
    return plan;
  }

 private:
  ControllerOptions options_;
};

}  // namespace

std::unique_ptr<Controller> make_node_lifecycle(const ControllerOptions& options) {
  return std::make_unique<NodeLifecycle>(options);
}

}  // namespace berth::controllers
