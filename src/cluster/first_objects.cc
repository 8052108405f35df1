// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_objects.h"

#include <fmt/format.h>

#include "apiserver/admission/bootstrap.h"
#include "controllers/registry.h"
#include "runtime/home.h"

namespace berth::cluster {
namespace {

void add_controller_role(std::unique_ptr<runtime::Controller> controller,
                         std::vector<std::string>& manifests) {
  const std::string user = controller_user(controller->spec().name());
  const std::string role = fmt::format("berth:controller:{}", controller->spec().name());
  std::vector<std::unique_ptr<runtime::Controller>> one;
  one.push_back(std::move(controller));
  manifests.push_back(runtime::role_json(role, one));
  manifests.push_back(fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{{"name":"{0}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{0}"}},"subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{1}"}}]}})",
      role, user));
}

}  // namespace

kube::User owner_of_cluster() {
  return {.name = "kubernetes-admin", .groups = {"system:masters", "system:authenticated"}};
}

std::string controller_user(std::string_view controller) {
  return fmt::format("system:serviceaccount:kube-system:{}", controller);
}

std::vector<std::string> first_objects(const ClusterOptions& options) {
  std::vector<std::string> manifests = apiserver::bootstrap_objects({.client_ca = options.ca_pem});
  auto controllers = controllers::make_controllers(options.controllers);
  if (controllers)
    for (auto& controller : *controllers) add_controller_role(std::move(controller), manifests);
  return manifests;
}

}  // namespace berth::cluster
