// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a PodDisruptionBudget, by name.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/int_or_string.h"
#include "kube/label_selector.h"
#include "kube/object.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class DisruptionBudgetView {
 public:
  explicit DisruptionBudgetView(Object budget)
      : budget_(std::move(budget)), spec_(budget_.member("spec")), status_(budget_.status()) {}

  const Object& object() const { return budget_; }
  // policy/v1: absent selects nothing, {} every pod of the namespace.
  Result<LabelSelector> selector() const { return LabelSelector::from_json(spec_["selector"]); }
  Result<std::optional<IntOrString>> min_available() const { return amount("minAvailable"); }
  Result<std::optional<IntOrString>> max_unavailable() const { return amount("maxUnavailable"); }
  bool always_allows_unhealthy() const {
    return spec_["unhealthyPodEvictionPolicy"].equals("AlwaysAllow");
  }

  std::int64_t disruptions_allowed() const { return count("disruptionsAllowed"); }
  std::int64_t current_healthy() const { return count("currentHealthy"); }
  std::int64_t desired_healthy() const { return count("desiredHealthy"); }
  std::int64_t expected_pods() const { return count("expectedPods"); }
  std::int64_t observed_generation() const { return count("observedGeneration"); }
  json::Slice disrupted_pods() const { return status_["disruptedPods"]; }  // name: time

 private:
  std::int64_t count(std::string_view key) const { return status_[key].integer().value_or(0); }
  Result<std::optional<IntOrString>> amount(std::string_view key) const {
    const json::Slice slice = spec_[key];
    if (!slice || slice.is_null()) return std::nullopt;
    Result<IntOrString> value = IntOrString::from_json(slice);
    if (!value) return tl::unexpected(std::move(value.error()));
    return std::move(*value);
  }

  Object budget_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
