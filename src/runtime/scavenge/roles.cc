// SPDX-License-Identifier: Apache-2.0
#include "runtime/scavenge/roles.h"

#include <fmt/format.h>

namespace berth::runtime {
namespace {

std::string rule(std::string_view groups, std::string_view resources, std::string_view verbs) {
  return fmt::format(R"({{"apiGroups":[{}],"resources":[{}],"verbs":[{}]}})", groups, resources,
                     verbs);
}

}  // namespace

std::vector<std::string> scavenger_door_role(ScavengerDoorKind door, std::string_view name,
                                             std::string_view subject) {
  constexpr std::string_view kRead = R"("get","list","watch")";
  // A door writes one annotation, which asks for a checkpoint.
  std::string rules = rule(R"("berth.dev","core.cerit.cz")", R"("scavengerjobs")",
                           R"("get","list","watch","patch")");
  rules += "," + rule(R"("berth.dev")", R"("scavengerpolicies")", kRead);
  if (door == ScavengerDoorKind::kReplica) {
    rules += "," + rule(R"("")",
                        R"("nodes","namespaces","services","replicationcontrollers",)"
                        R"("persistentvolumes","persistentvolumeclaims")",
                        kRead);
    rules += "," + rule(R"("apps")", R"("replicasets","statefulsets")", kRead);
    rules += "," + rule(R"("policy")", R"("poddisruptionbudgets")", kRead);
    rules += "," + rule(R"("storage.k8s.io")",
                        R"("storageclasses","csinodes","csidrivers","csistoragecapacities",)"
                        R"("volumeattachments")",
                        kRead);
    rules += "," + rule(R"("")", R"("pods")", R"("get","list","watch","delete")");
    rules += "," + rule(R"("")", R"("pods/status")", R"("patch")");
    rules += "," + rule(R"("","events.k8s.io")", R"("events")", R"("create","patch")");
  }
  const std::size_t colon = subject.find(':');
  const bool user = subject.starts_with("system:");
  const std::string who =
      user ? fmt::format(R"({{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{}"}})",
                         subject)
           : fmt::format(R"({{"kind":"ServiceAccount","namespace":"{}","name":"{}"}})",
                         subject.substr(0, colon), subject.substr(colon + 1));
  return {
      fmt::format(
          R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{{"name":"{}"}},"rules":[{}]}})",
          name, rules),
      fmt::format(
          R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{{"name":"{0}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{0}"}},"subjects":[{1}]}})",
          name, who)};
}

}  // namespace berth::runtime
