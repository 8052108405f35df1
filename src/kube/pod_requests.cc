// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_requests.h"

#include <initializer_list>

#include <fmt/format.h>

namespace berth::kube {
namespace {

bool allowed_at_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

ResourceList largest(std::initializer_list<const ResourceList*> lists) {
  ResourceList out;
  for (const ResourceList* list : lists) raise_to(out, *list);
  return out;
}

// Adds a pod up step by step. The first bad quantity ends it; error() then names the place.
class Sum {
 public:
  Sum(const Object& pod, const PodRequestOptions& options)
      : spec_(pod.member("spec")), status_(pod.status()), options_(options) {
    for (const json::Slice condition : status_["conditions"].elements())
      if (condition["type"].equals("PodResizePending")) {
        infeasible_ = condition["reason"].equals("Infeasible");
        break;
      }
  }

  Result<ResourceList> total() {
    ResourceList sum = containers();
    if (!options_.skip_pod_level) pod_level(sum);
    if (!options_.exclude_overhead) add(sum, read(spec_["overhead"], "spec.overhead"));
    if (error_) return tl::unexpected(*std::move(error_));
    return sum;
  }

 private:
  ResourceList containers() {
    ResourceList sum, sidecars, init_peak;
    std::size_t index = 0;
    for (const json::Slice container : spec_["containers"].elements())
      add(sum, container_requests(container, fmt::format("spec.containers[{}]", index++), true));
    index = 0;
    for (const json::Slice container : spec_["initContainers"].elements()) {
      const bool sidecar = container["restartPolicy"].equals("Always");
      ResourceList need =
          container_requests(container, fmt::format("spec.initContainers[{}]", index++), sidecar);
      // A sidecar stays; any other init container runs beside the sidecars before it.
      if (sidecar) {
        add(sum, need);
        add(sidecars, need);
        raise_to(init_peak, sidecars);
      } else {
        add(need, sidecars);
        raise_to(init_peak, need);
      }
    }
    raise_to(sum, init_peak);
    return sum;
  }

  ResourceList container_requests(json::Slice container, const std::string& path, bool resizable) {
    const json::Slice resources = container["resources"];
    ResourceList requests = read(resources["requests"], path + ".resources.requests");
    if (options_.limits_imply_requests)
      for (auto& [name, limit] : read(resources["limits"], path + ".resources.limits"))
        requests.try_emplace(name, limit);
    if (options_.use_status && resizable) {
      const auto [status, place] = status_of(container["name"]);
      if (const json::Slice actual = status["resources"]; actual && !actual.is_null())
        requests = effective(requests, read(actual["requests"], place + ".resources.requests"),
                             read(status["allocatedResources"], place + ".allocatedResources"));
    }
    for (const auto& [name, amount] : options_.non_missing) requests.try_emplace(name, amount);
    return requests;
  }

  // k8s 1.36: one map for both lists, filled in this order, so the last status of a name wins
  // wherever it stands.
  std::pair<json::Slice, std::string> status_of(json::Slice name) {
    std::pair<json::Slice, std::string> found;
    for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
      std::size_t index = 0;
      for (const json::Slice status : status_[list].elements()) {
        if (status["name"].text() == name.text())
          found = {status, fmt::format("status.{}[{}]", list, index)};
        ++index;
      }
    }
    return found;
  }

  ResourceList effective(const ResourceList& asked, const ResourceList& actual,
                         const ResourceList& allocated) const {
    return infeasible_ ? largest({&actual, &allocated}) : largest({&asked, &actual, &allocated});
  }

  void pod_level(ResourceList& sum) {
    ResourceList asked = read(spec_["resources"]["requests"], "spec.resources.requests");
    std::erase_if(asked, [](const auto& entry) { return !allowed_at_pod_level(entry.first); });
    if (asked.empty()) return;
    if (const json::Slice actual = status_["resources"];
        options_.pod_level_resize && options_.use_status && actual && !actual.is_null()) {
      const ResourceList held =
          effective(read(spec_["resources"]["requests"], "spec.resources.requests"),
                    read(actual["requests"], "status.resources.requests"),
                    read(status_["allocatedResources"], "status.allocatedResources"));
      for (auto& [name, amount] : asked) {
        const auto at = held.find(name);
        amount = at == held.end() ? Quantity() : at->second;
      }
    }
    for (auto& [name, amount] : asked) sum.insert_or_assign(name, amount);
  }

  ResourceList read(json::Slice list, const std::string& path) {
    Result<ResourceList> got = parse_resource_list(list, path);
    if (got) return *std::move(got);
    if (!error_) error_ = std::move(got.error());
    return {};
  }

  json::Slice spec_, status_;
  const PodRequestOptions& options_;
  bool infeasible_ = false;
  std::optional<Error> error_;
};

}  // namespace

Result<ResourceList> pod_requests(const Object& pod, const PodRequestOptions& options) {
  return Sum(pod, options).total();
}

Result<ResourceList> pod_limits(const Object& pod) {
  std::optional<Error> error;
  const auto read = [&](json::Slice list, const std::string& path) {
    Result<ResourceList> got = parse_resource_list(list, path);
    if (got) return *std::move(got);
    if (!error) error = std::move(got.error());
    return ResourceList{};
  };
  const json::Slice spec = pod.member("spec");
  ResourceList sum, sidecars, init_peak;
  std::size_t index = 0;
  for (const json::Slice container : spec["containers"].elements())
    add(sum, read(container["resources"]["limits"],
                  fmt::format("spec.containers[{}].resources.limits", index++)));
  index = 0;
  for (const json::Slice container : spec["initContainers"].elements()) {
    ResourceList need = read(container["resources"]["limits"],
                             fmt::format("spec.initContainers[{}].resources.limits", index++));
    if (container["restartPolicy"].equals("Always")) {
      add(sum, need);
      add(sidecars, need);
      raise_to(init_peak, sidecars);
    } else {
      add(need, sidecars);
      raise_to(init_peak, need);
    }
  }
  raise_to(sum, init_peak);
  for (auto& [name, amount] : read(spec["resources"]["limits"], "spec.resources.limits"))
    if (allowed_at_pod_level(name)) sum.insert_or_assign(name, amount);
  for (const auto& [name, amount] : read(spec["overhead"], "spec.overhead"))
    if (const auto found = sum.find(name); found != sum.end() && !found->second.is_zero())
      found->second += amount;
  if (error) return tl::unexpected(*std::move(error));
  return sum;
}

}  // namespace berth::kube
