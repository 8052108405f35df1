// SPDX-License-Identifier: Apache-2.0
// The resources that NodeResourcesFit and BalancedAllocation are configured to score by, resolved
// once for a shape to columns and amounts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/plugin_args.h"
#include "scheduler/plugins/exact_row.h"

namespace berth::scheduler {

// A value.
struct ScoredResource {
  enum class Kind : std::uint8_t { kCpu, kMemory, kDisk, kScalar };
  Kind kind = Kind::kCpu;
  ResourceId id = ResourceId::kNone;  // of kScalar
  std::string name;
  std::int64_t weight = 1;
  std::int64_t asked = 0;
};

// Those of `configured` that can count for a pod that asks for `asked`: a scalar resource it does
// not ask for is left out, and so is a name that is no resource.
std::vector<ScoredResource> scored_resources(const std::vector<ResourceWeight>& configured,
                                             const Resources& asked, ClusterState& cluster);

// Which sums of cpu and memory count as used.
enum class Used : std::uint8_t { kAsked, kNonzero };

struct ResourceColumns {
  const double* alloc = nullptr;  // null: no node has the resource
  const double* used = nullptr;
};
ResourceColumns columns_of(const ScoredResource&, const Rows&, Used);

struct ExactAmounts {
  std::int64_t alloc = 0, used = 0;
};
ExactAmounts exact_amounts(const ScoredResource&, const ExactRow&, Used);

// Calls f(row) for the rows of [begin, end) that doubles cannot hold; there are hardly ever any.
template <class F>
void for_each_wide(const Rows& rows, std::uint32_t begin, std::uint32_t end, F&& f) {
  std::uint32_t any = 0;
  for (std::uint32_t row = begin; row < end; ++row) any |= rows.flags[row];
  if ((any & row_flag::kWide) == 0) return;
  for (std::uint32_t row = begin; row < end; ++row)
    if (is_wide(rows, row)) f(row);
}

}  // namespace berth::scheduler
