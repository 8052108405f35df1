// SPDX-License-Identifier: Apache-2.0
// For strategies that pick a node instead of weighing all: the one picked gets 100, the others 0.
// They want a profile in which the other scorers are disabled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "scheduler/framework/plugin.h"

namespace berth::scheduler {

class OneWinner : public Score {
 public:
  Status prepare_score(Cycle& cycle, const FeasibleSummary& nodes) const final {
    cycle.emplace_state<Winner>(slot()).node = nodes.rows.node[pick(cycle, nodes)];
    return {};
  }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const final {
    const Winner* winner = cycle.state<Winner>(slot());
    if (winner == nullptr)
      return Status::error(std::string(name()) + " must be enabled at preScore too");
    of.for_each([&](std::uint32_t row) { raw[row] = rows.node[row] == winner->node ? 100 : 0; });
    return {};
  }

 protected:
  // One of the feasible rows; there is at least one.
  virtual std::uint32_t pick(const Cycle&, const FeasibleSummary&) const = 0;

 private:
  struct Winner final : CycleState {
    NodeId node = NodeId::kNone;
  };
};

// The first row in `rows` that is not before `from`, or else the very first; there must be one.
inline std::uint32_t first_from(const RowSet& rows, std::uint32_t from) {
  std::uint32_t first = rows.size(), later = rows.size();
  rows.for_each([&](std::uint32_t row) {
    first = std::min(first, row);
    if (row >= from) later = std::min(later, row);
  });
  return later < rows.size() ? later : first;
}

// The row with so many before it.
inline std::uint32_t nth(const RowSet& rows, std::uint64_t before) {
  std::uint32_t found = rows.size();
  rows.for_each([&](std::uint32_t row) {
    if (before-- == 0) found = row;
  });
  return found;
}

}  // namespace berth::scheduler
