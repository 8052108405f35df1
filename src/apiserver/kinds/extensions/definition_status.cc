// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/definition_status.h"

#include "kube/time.h"

namespace berth::apiserver {

Peek definition_condition(Peek status, std::string_view type) {
  for (const json::Value& each : status["conditions"].elements())
    if (Peek(each)["type"].is(type)) return each;
  return {};
}

bool definition_has_condition(Peek status, std::string_view type) {
  return definition_condition(status, type)["status"].is("True");
}

void set_condition(json::Value& status, const DefinitionCondition& wanted, WallTime now) {
  if (!status.is_object()) status.emplace_object();
  json::Value& list = status.get_object()["conditions"];
  if (!list.is_array()) list.emplace_array();
  const std::string_view truth = wanted.holds ? "True" : "False";
  json::Dict* found = nullptr;
  for (json::Value& each : list.get_array())
    if (each.is_object() && Peek(each)["type"].is(wanted.type)) found = &each.get_object();
  if (found == nullptr) {
    list.get_array().emplace_back(json::Dict(list.storage()));
    found = &list.get_array().back().get_object();
    (*found)["type"] = bj(wanted.type);
  }
  if (!Peek(*found)["status"].is(truth)) {
    (*found)["status"] = bj(truth);
    (*found)["lastTransitionTime"] = kube::time_text(now);
  }
  (*found)["reason"] = bj(wanted.reason);
  (*found)["message"] = bj(wanted.message);
}

void begin_deletion(Edit& definition, WallTime now) {
  json::Dict& metadata = definition.metadata();
  metadata["deletionTimestamp"] = kube::time_text(now);
  json::Value& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) finalizers.emplace_array();
  bool there = false;
  for (const json::Value& each : finalizers.get_array()) there |= Peek(each).is(kCleanupFinalizer);
  if (!there) finalizers.get_array().emplace_back(bj(kCleanupFinalizer));
  set_condition(definition.status(),
                {"Terminating", true, "InstanceDeletionPending",
                 "CustomResourceDefinition marked for deletion; CustomResource deletion will begin "
                 "soon"},
                now);
}

}  // namespace berth::apiserver
