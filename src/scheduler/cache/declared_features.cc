// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/declared_features.h"

#include <span>

namespace berth::scheduler {
namespace {

bool restarts_all_containers(std::span<const ContainerFields> containers) {
  for (const ContainerFields& container : containers)
    for (const json::Slice rule : container.restart_rules.elements())
      if (rule["action"].equals("RestartAllContainers")) return true;
  return false;
}

}  // namespace

std::vector<std::string> needed_features(const PodFields& pod) {
  std::vector<std::string> out;
  if (restarts_all_containers(pod.containers) || restarts_all_containers(pod.init_containers))
    out.emplace_back("RestartAllContainersOnContainerExits");
  if (pod.host_network.boolean() && !pod.host_users.boolean(true))
    out.emplace_back("UserNamespacesHostNetworkSupport");
  return out;
}

}  // namespace berth::scheduler
