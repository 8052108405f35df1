// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/conditions.h"

#include "kube/time.h"

namespace berth::apiserver {
namespace {

json::List& conditions_of(json::Dict& status) {
  json::Value& list = status["conditions"];
  return list.is_array() ? list.get_array() : list.emplace_array();
}

json::Value* find(json::List& conditions, std::string_view type) {
  for (json::Value& each : conditions)
    if (Peek(each)["type"].is(type)) return &each;
  return nullptr;
}

}  // namespace

void set_pod_condition(Edit& pod, const PodCondition& wanted, WallTime now) {
  if (!pod.status().is_object()) pod.status().emplace_object();
  json::List& conditions = conditions_of(pod.status().get_object());
  json::Value* found = find(conditions, wanted.type);
  json::Value since(kube::time_text(now), pod.arena().storage());
  if (found != nullptr && Peek(*found)["status"].is(wanted.status))
    if (const json::Value* was = Peek(*found)["lastTransitionTime"].value()) since = *was;
  if (found == nullptr) found = &conditions.emplace_back(nullptr);
  json::Dict& to = found->emplace_object();
  to["type"] = bj(wanted.type);
  to["status"] = bj(wanted.status);
  to["lastProbeTime"] = nullptr;
  to["lastTransitionTime"] = std::move(since);
  if (!wanted.reason.empty()) to["reason"] = bj(wanted.reason);
  if (!wanted.message.empty()) to["message"] = bj(wanted.message);
}

void set_disruption_allowed(json::Dict& status, WallTime now) {
  const bool allowed = Peek(status)["disruptionsAllowed"].integer_or(0) > 0;
  const std::int64_t observed = Peek(status)["observedGeneration"].integer_or(0);
  json::List& conditions = conditions_of(status);
  json::Value* found = find(conditions, "DisruptionAllowed");
  const std::string_view word = allowed ? "True" : "False";
  if (found == nullptr) {
    found = &conditions.emplace_back(nullptr);
    found->emplace_object()["type"] = "DisruptionAllowed";
  }
  json::Dict& to = found->get_object();
  if (!Peek(to)["status"].is(word)) {
    to["status"] = bj(word);
    to["lastTransitionTime"] = kube::time_text(now);
  }
  if (observed != 0) to["observedGeneration"] = observed;
  to["reason"] = allowed ? "SufficientPods" : "InsufficientPods";
  to["message"] = "";
}

}  // namespace berth::apiserver
