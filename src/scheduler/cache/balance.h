// SPDX-License-Identifier: Apache-2.0
// How evenly cpu and memory of a node are used: the formula that BalancedAllocation and the node
// table share.
#pragma once

#include <cmath>
#include <cstdint>

namespace berth::scheduler {

// trunc((1 - |f0 - f1| / 2) * 100) with f = used / allocatable, at most 1; a resource of which a
// node has none does not count, and one alone is in balance.
inline std::int32_t balance_of(double cpu_used, double cpu_alloc, double memory_used,
                               double memory_alloc) {
  // No branches: this runs over columns.
  const bool both = (cpu_alloc != 0) & (memory_alloc != 0);
  double cpu = cpu_used / (both ? cpu_alloc : 1);
  double memory = memory_used / (both ? memory_alloc : 1);
  cpu = cpu > 1 ? 1 : cpu;
  memory = memory > 1 ? 1 : memory;
  const double deviation = std::abs((cpu - memory) / 2);
  const auto balance = static_cast<std::int32_t>((1 - deviation) * 100);
  return both ? balance : 100;
}

}  // namespace berth::scheduler
