// SPDX-License-Identifier: Apache-2.0
#include "runtime/slots/roles.h"

#include <fmt/format.h>

#include "kube/ours/ours.h"

namespace berth::runtime {
namespace {

std::string rule(std::string_view groups, std::string_view resources, std::string_view verbs) {
  return fmt::format(R"({{"apiGroups":[{}],"resources":[{}],"verbs":[{}]}})", groups, resources,
                     verbs);
}

}  // namespace

std::vector<std::string> door_role(Door door, std::string_view name, std::string_view subject) {
  const std::string groups =
      fmt::format(R"("{}","{}","berth.dev")", kube::kThesisGroup, kube::kAliasGroup);
  constexpr std::string_view kRead = R"("get","list","watch")";
  std::string rules = rule(groups, R"("testbeds","slotledgers","batchjobs")", kRead);
  if (door == Door::kExtender) {
    rules += "," + rule(groups, R"("batchjobs/status")", R"("patch")");
    rules += "," + rule(R"("")", R"("nodes","pods")", kRead);
    rules += "," + rule(R"("")", R"("pods")", R"("patch")");  // to call those that wait
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
