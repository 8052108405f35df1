// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/definition_status.h"

#include <fmt/format.h>

#include "apiserver/kinds/extensions/formats.h"
#include "json/writer.h"
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

bool guarded_group(std::string_view group) {
  return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" ||
         group.ends_with(".kubernetes.io");
}

ApprovalState approval_of(Peek metadata) {
  const std::string_view given = metadata["annotations"][kApprovalAnnotation].text();
  constexpr std::string_view kSee = "see https://github.com/kubernetes/enhancements/pull/1111";
  const std::string needed =
      fmt::format("protected groups must have approval annotation \"{}\"", kApprovalAnnotation);
  if (given.empty()) return {Approval::kMissing, fmt::format("{}, {}", needed, kSee)};
  if (given.starts_with("unapproved"))
    return {Approval::kBypassed, "not approved: " + json::quoted(given)};
  const std::size_t host = given.find("://");
  if (has_format(given, "uri") && host != std::string_view::npos && host + 3 < given.size())
    return {Approval::kApproved, fmt::format("approved in {}", given)};
  return {Approval::kInvalid,
          fmt::format("{} with either a URL or a reason starting with \"unapproved\", {}", needed,
                      kSee)};
}

void settle_approval(std::string_view group, Edit& definition, WallTime now) {
  if (!guarded_group(group)) return;
  const ApprovalState state = approval_of(Peek(definition.metadata()));
  constexpr std::string_view kReasons[] = {"MissingAnnotation", "InvalidAnnotation",
                                           "UnapprovedAnnotation", "ApprovedAnnotation"};
  set_condition(definition.status(),
                {"KubernetesAPIApprovalPolicyConformant", state.approval == Approval::kApproved,
                 kReasons[static_cast<std::size_t>(state.approval)], state.message},
                now);
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
