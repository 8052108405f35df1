// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a ScavengerQuota, by name.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "kube/object.h"
#include "kube/resource_list.h"

namespace berth::kube {

inline constexpr std::string_view kGpuOfQuota = "gpu";  // every resource whose name ends in /gpu

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class ScavengerQuotaView {
 public:
  explicit ScavengerQuotaView(Object quota)
      : quota_(std::move(quota)), spec_(quota_.member("spec")), status_(quota_.status()) {}

  const Object& object() const { return quota_; }
  json::Slice status() const { return status_; }
  std::optional<std::int64_t> max_jobs() const { return spec_["maxJobs"].integer(); }
  ResourceList hard() const {
    return parse_resource_list(spec_["hard"], "spec.hard").value_or(ResourceList{});
  }
  double weight() const {  // more than 0
    const auto given = Quantity::from_json(spec_["weight"]);
    if (!spec_["weight"] || !given) return 1;
    return static_cast<double>(std::max<std::int64_t>(1, given->milli_value())) / 1'000;
  }

  // What counts against hard(): cpu, memory, and all GPUs as one.
  static ResourceList counted(const ResourceList& requests) {
    ResourceList out;
    for (const auto& [name, amount] : requests) {
      if (name == "cpu" || name == "memory") out[name] += amount;
      if (name.ends_with("/gpu")) out[std::string(kGpuOfQuota)] += amount;
    }
    return out;
  }

 private:
  Object quota_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
