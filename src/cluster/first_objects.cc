// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_objects.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/admission/bootstrap.h"
#include "controllers/persistent_volume/provisioning.h"
#include "controllers/registry.h"
#include "controllers/stand_ins/stand_in.h"
#include "kube/ours/ours.h"
#include "runtime/home.h"
#include "runtime/scavenge/roles.h"
#include "runtime/slots/roles.h"

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

bool any_of_ours(const std::vector<std::unique_ptr<runtime::Controller>>& controllers) {
  const std::vector<std::string> ours =
      controllers::names_of(controllers::Registration::Whose::kBerth);
  return std::any_of(controllers.begin(), controllers.end(), [&](const auto& one) {
    return std::find(ours.begin(), ours.end(), one->spec().name()) != ours.end();
  });
}

}  // namespace

bool runs_ours(const ClusterOptions& options) {
  const auto controllers =
      controllers::make_controllers(options.controllers, {.job_kinds = options.job_kinds});
  return controllers && any_of_ours(*controllers);
}

kube::User owner_of_cluster() {
  return {.name = "kubernetes-admin", .groups = {"system:masters", "system:authenticated"}};
}

std::string controller_user(std::string_view controller) {
  return fmt::format("system:serviceaccount:kube-system:{}", controller);
}

std::vector<std::string> objects_of_a_new_cluster(const ClusterOptions& options) {
  const auto controllers = controllers::make_controllers(options.controllers);
  const bool provisions =
      options.default_storage && controllers &&
      std::any_of(controllers->begin(), controllers->end(), [](const auto& one) {
        return one->spec().name() == "persistentvolume-binder-controller";
      });
  if (!provisions) return {};
  // Immediate: a volume that was made for a pod on a node would tie every later pod to that node,
  // and a scheduler of somebody's own need know nothing of volumes.
  return {fmt::format(
      R"({{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"{}","annotations":{{"storageclass.kubernetes.io/is-default-class":"true"}}}},"provisioner":"{}","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}})",
      kDefaultStorageClass, controllers::kSimulated)};
}

std::vector<std::string> first_objects(const ClusterOptions& options) {
  std::vector<std::string> manifests = apiserver::bootstrap_objects({.client_ca = options.ca_pem});
  auto controllers =
      controllers::make_controllers(options.controllers, {.job_kinds = options.job_kinds});
  if (!controllers) return manifests;
  // Kinds that Kubernetes does not have are served where somebody carries them out.
  const auto serve_with = [&](std::string_view name, std::vector<std::string> (*definitions)()) {
    if (std::none_of(controllers->begin(), controllers->end(),
                     [&](const auto& one) { return one->spec().name() == name; }))
      return;
    for (std::string& manifest : definitions()) manifests.push_back(std::move(manifest));
  };
  if (any_of_ours(*controllers)) {
    for (std::string& manifest : kube::our_first_objects())
      manifests.push_back(std::move(manifest));
    using enum runtime::ScavengerDoorKind;
    for (std::string& manifest : runtime::scavenger_door_role(
             kScheduler, "berth:scheduler:scavengers", "system:kube-scheduler"))
      manifests.push_back(std::move(manifest));
    for (std::string& manifest :
         runtime::scavenger_door_role(kReplica, "berth:reclaim", "kube-system:berth-reclaim"))
      manifests.push_back(std::move(manifest));
  }
  serve_with("testbed-controller", [] {
    return runtime::door_role(runtime::Door::kPlugin, "berth:scheduler:slots",
                              "system:kube-scheduler");
  });
  serve_with("spark-stand-in", controllers::stand_in_definitions);
  for (auto& controller : *controllers) add_controller_role(std::move(controller), manifests);
  return manifests;
}

}  // namespace berth::cluster
