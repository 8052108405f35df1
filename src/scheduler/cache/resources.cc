// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/resources.h"

#include <algorithm>

#include "kube/names.h"

namespace berth::scheduler {
namespace {

bool in_kubernetes_namespace(std::string_view name) {
  return name.find("kubernetes.io/") != std::string_view::npos;
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  if (name.find('/') == std::string_view::npos || in_kubernetes_namespace(name)) return false;
  if (name.starts_with("requests.")) return false;
  return kube::check_qualified_name("requests." + std::string(name)).empty();
}

bool is_scalar_resource(std::string_view name) {
  return name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") ||
         in_kubernetes_namespace(name) || is_extended_resource(name);
}

Resources Resources::from(const kube::ResourceList& list) {
  Resources out;
  for (const auto& [name, amount] : list) {
    if (name == "cpu")
      out.millicores = amount.milli_value();
    else if (name == "memory")
      out.memory = amount.value();
    else if (name == "ephemeral-storage")
      out.disk = amount.value();
    else if (is_scalar_resource(name))
      out.scalars.emplace_back(name, amount.value());
  }
  return out;
}

std::int64_t Resources::scalar(std::string_view name) const {
  const auto at = std::find_if(scalars.begin(), scalars.end(),
                               [&](const auto& entry) { return entry.first == name; });
  return at == scalars.end() ? 0 : at->second;
}

std::int64_t Resources::of(std::string_view name) const {
  if (name == "cpu") return millicores;
  if (name == "memory") return memory;
  if (name == "ephemeral-storage") return disk;
  return scalar(name);
}

}  // namespace berth::scheduler
