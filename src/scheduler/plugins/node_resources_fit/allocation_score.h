// SPDX-License-Identifier: Apache-2.0
// How good a node is by how much of it would be allocated: the three strategies of
// NodeResourcesFit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/cache/row_set.h"
#include "scheduler/plugins/scored_resource.h"

namespace berth::scheduler {

// Resource columns are doubles holding integers. For whole 0 <= part <= whole <= 2^46, whole > 0,
// this is exactly part * 100 / whole in integers: the product stays below 2^53, and the quotient,
// less than 2^7, is at least 2^-46 from the next integer while rounding moves it by at most 2^-47.
inline std::int32_t percent(double part, double whole) {
  return static_cast<std::int32_t>(part * 100 / whole);
}

// Immutable.
class AllocationScore {
 public:
  explicit AllocationScore(const NodeResourcesFitArgs&);

  // Fills raw[row] for the rows in `of` with 0 to 100.
  void score(const std::vector<ScoredResource>&, const Rows&, const RowSet& of,
             std::span<std::int64_t> raw) const;
  // The same for one row, in integers.
  std::int64_t exact(const std::vector<ScoredResource>&, const ExactRow&) const;

 private:
  using Strategy = NodeResourcesFitArgs::Strategy;
  void score_run(const std::vector<ScoredResource>&, const Rows&, std::uint32_t begin,
                 std::uint32_t count, std::int64_t* raw) const;

  Strategy strategy_;
  std::array<std::int32_t, 101> by_utilization_{};  // of kRequestedToCapacityRatio
};

}  // namespace berth::scheduler
