// SPDX-License-Identifier: Apache-2.0
// A row's amounts as the integers they are, for rows whose amounts doubles cannot hold (kWide).
#pragma once

#include <cstdint>
#include <string_view>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/rows.h"
#include "scheduler/cache/what_if.h"

namespace berth::scheduler {

inline bool is_wide(const Rows& rows, std::uint32_t row) {
  return (rows.flags[row] & row_flag::kWide) != 0;
}

// What is used on a row's node, what-ifs included. A view of one row for the length of a call.
class ExactRow {
 public:
  ExactRow(const Rows& rows, std::uint32_t row)
      : rows_(rows),
        row_(row),
        node_(rows.cluster->node(rows.node[row])),
        sums_(rows.what_if != nullptr ? rows.what_if->sums(rows.begin + row)
                                      : rows.cluster->sums(rows.node[row])) {}

  const Resources& allocatable() const { return node_.allocatable; }
  const NodeSums& used() const { return sums_; }
  std::int64_t scalar_used(ResourceId id, std::string_view name) const {
    return rows_.what_if != nullptr ? rows_.what_if->scalar_used(rows_.begin + row_, id, name)
                                    : rows_.cluster->scalar_used(rows_.node[row_], id);
  }

 private:
  const Rows& rows_;
  std::uint32_t row_;
  const Node& node_;
  NodeSums sums_;
};

}  // namespace berth::scheduler
