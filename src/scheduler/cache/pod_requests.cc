// SPDX-License-Identifier: Apache-2.0
// What a pod asks for and what a node accounts for it.
#include "kube/pod_requests.h"

#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

kube::Quantity default_cpu() {
  return kube::Quantity::of(100, kube::Quantity::Format::kDecimalSI, -3);
}
kube::Quantity default_memory() { return kube::Quantity::of(std::int64_t{200} << 20); }

bool has_pod_level_requests(const PodFields& fields) {
  for (const auto& [name, amount] : fields.resources["requests"].members())
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) return true;
  return false;
}

// Where a pod states requests for all its containers together, a default stands in only for what is
// stated nowhere.
kube::ResourceList defaults(bool pod_level, const kube::ResourceList& requests) {
  kube::ResourceList out;
  if (!pod_level || !requests.contains("cpu")) out.emplace("cpu", default_cpu());
  if (!pod_level || !requests.contains("memory")) out.emplace("memory", default_memory());
  return out;
}

// An amount in force and one on its way: each absent or written as the request is.
bool same(json::Slice requests, json::Slice actual, json::Slice allocated) {
  const std::string_view asked = requests.raw();
  return actual["requests"].raw() == asked && (!stated(allocated) || allocated.raw() == asked);
}

bool statuses_differ(const PodFields& fields, json::Slice statuses) {
  for (const json::Slice status : statuses.elements()) {
    json::Slice name, actual, allocated;
    for (const auto& [key, value] : status.members()) {
      if (key == "name")
        name = value;
      else if (key == "resources")
        actual = value;
      else if (key == "allocatedResources")
        allocated = value;
    }
    if (!stated(actual)) continue;
    for (const auto* list : {&fields.containers, &fields.init_containers})
      for (const ContainerFields& container : *list)
        if (container.name.raw() == name.raw() &&
            !same(container.resources["requests"], actual, allocated))
          return true;
  }
  return false;
}

}  // namespace

Result<Accounted> accounted(const PodFields& fields, const kube::Object& pod, bool use_status) {
  kube::PodRequestOptions options{.use_status = use_status};
  const Result<kube::ResourceList> requests = kube::pod_requests(pod, options);
  if (!requests) return tl::unexpected(requests.error());
  Accounted out;
  out.used = Resources::from(*requests);
  out.nonzero_millicores = out.used.millicores;
  out.nonzero_memory = out.used.memory;
  options.non_missing = defaults(has_pod_level_requests(fields), *requests);
  if (options.non_missing.empty()) return out;
  const Result<kube::ResourceList> nonzero = kube::pod_requests(pod, options);
  if (!nonzero) return tl::unexpected(nonzero.error());
  const Resources counted = Resources::from(*nonzero);
  out.nonzero_millicores = counted.millicores;
  out.nonzero_memory = counted.memory;
  return out;
}

Result<Resources> asked_nonzero(const kube::Object& pod) {
  const Result<kube::ResourceList> requests = kube::pod_requests(
      pod, {.use_status = false, .skip_pod_level = true, .non_missing = defaults(false, {})});
  if (!requests) return tl::unexpected(requests.error());
  return Resources::from(*requests);
}

bool may_be_resized(const PodFields& fields) {
  if (statuses_differ(fields, fields.container_statuses)) return true;
  if (statuses_differ(fields, fields.init_container_statuses)) return true;
  return stated(fields.actual_resources) &&
         !same(fields.resources["requests"], fields.actual_resources, fields.allocated_resources);
}

}  // namespace berth::scheduler
