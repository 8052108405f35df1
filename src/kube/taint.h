// SPDX-License-Identifier: Apache-2.0
// What keeps pods off nodes, and which pods do not mind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "json/slice.h"

namespace berth::kube {

struct Taint {
  std::string key, value, effect;  // effect: NoSchedule, PreferNoSchedule, NoExecute
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key, op, value, effect;  // op: "" or Equal, Exists, Lt, Gt; empty effect: all
  std::optional<std::int64_t> seconds;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

std::vector<Taint> taints_of(json::Slice list);
std::vector<Toleration> tolerations_of(json::Slice list);

// Lt and Gt count only where comparisons are enabled (feature TaintTolerationComparisonOperators).
bool tolerates(const Toleration&, const Taint&, bool comparisons = false);
bool tolerates(std::span<const Toleration>, const Taint&, bool comparisons = false);

}  // namespace berth::kube
