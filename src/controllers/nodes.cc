// SPDX-License-Identifier: Apache-2.0
#include "controllers/nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {

using kube::Object;

std::vector<std::string> node_of_pod(const Object& pod) {
  std::string node = pod.member("spec")["nodeName"].text();
  if (node.empty()) return {};
  return {std::move(node)};
}

Readiness readiness(const Object& node) {
  const json::Slice ready = kube::find_condition(node.status(), "Ready");
  if (!ready.present()) return Readiness::kAbsent;
  if (ready["status"].equals("True")) return Readiness::kTrue;
  return ready["status"].equals("False") ? Readiness::kFalse : Readiness::kUnknown;
}

std::string zone_of(const Object& node) {
  const json::Slice labels = node.labels();
  // k8s 1.36: the old names go first.
  const auto either = [&](const char* old_name, const char* name) {
    return labels[old_name].present() ? labels[old_name].text() : labels[name].text();
  };
  const std::string zone =
      either("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  const std::string region =
      either("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  if (region.empty() && zone.empty()) return "";
  using namespace std::string_literals;
  return region + ":\0:"s + zone;
}

bool has_taint(const Object& node, std::string_view key, std::string_view effect) {
  for (const json::Slice one : node.member("spec")["taints"].elements())
    if (one["key"].equals(key) && (effect.empty() || one["effect"].equals(effect))) return true;
  return false;
}

std::vector<kube::Taint> no_execute_taints(const Object& node) {
  std::vector<kube::Taint> taints = kube::taints_of(node.member("spec")["taints"]);
  std::erase_if(taints, [](const kube::Taint& one) { return one.effect != "NoExecute"; });
  return taints;
}

bool TaintDraft::has(std::string_view key, std::string_view effect) const {
  for (const json::Slice one : taints_.elements())
    if (one["key"].equals(key) && one["effect"].equals(effect)) return true;
  return false;
}

void TaintDraft::add(std::string_view key, std::string_view effect, WallTime now) {
  if (has(key, effect)) return;
  json::Writer w;
  w.object().member("key").string(key).member("effect").string(effect);
  w.member("timeAdded").string(kube::time_text(now)).end();
  added_.emplace_back(Id(key, effect), w.take());
}

void TaintDraft::remove(std::string_view key, std::string_view effect) {
  if (has(key, effect)) removed_.emplace_back(key, effect);
}

std::string TaintDraft::json() const {
  json::Writer w;
  w.array();
  bool any = false;
  for (const json::Slice one : taints_.elements()) {
    const Id id{one["key"].text(), one["effect"].text()};
    if (std::find(removed_.begin(), removed_.end(), id) != removed_.end()) continue;
    w.raw(one.raw());
    any = true;
  }
  for (const auto& [id, text] : added_) {
    w.raw(text);
    any = true;
  }
  w.end();
  return any ? w.take() : "null";
}

bool patch_pod_condition(runtime::Plan& plan, const Object& pod,
                         const std::optional<PodConditionChange>& change, WallTime now,
                         std::string_view phase) {
  json::Writer w;
  w.object().member("status").object();
  bool any = false;
  if (!phase.empty() && !pod.status()["phase"].equals(phase)) {
    w.member("phase").string(phase);
    if (pod.generation() != 0) w.member("observedGeneration").integer(pod.generation());
    any = true;
  }
  if (change) {
    const json::Slice before = kube::find_condition(pod.status(), change->type);
    const bool same_status = before["status"].equals(change->status);
    const auto kept = [&](const char* name, const std::optional<std::string>& wanted) {
      return !wanted || before[name].text() == *wanted;
    };
    if (!before.present() || !same_status || !kept("reason", change->reason) ||
        !kept("message", change->message)) {
      w.member("conditions").array().object().member("type").string(change->type);
      w.member("status").string(change->status);
      if (change->reason) w.member("reason").string(*change->reason);
      if (change->message) w.member("message").string(*change->message);
      if (pod.generation() != 0 && (change->reason || before["observedGeneration"].present()))
        w.member("observedGeneration").integer(pod.generation());
      if (!same_status) w.member("lastTransitionTime").string(kube::time_text(now));
      w.end().end();
      any = true;
    }
  }
  w.end().end();
  if (any)
    plan.add(runtime::PatchAction{runtime::target_of(pod), w.take(), "status",
                                  kube::PatchType::kStrategic, runtime::Pin::kUid});
  return any;
}

}  // namespace berth::controllers
