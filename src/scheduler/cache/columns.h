// SPDX-License-Identifier: Apache-2.0
// Where node rows lie: one array a fact. Nothing here knows what the facts mean.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/cache/ids.h"
#include "scheduler/cache/rows.h"

namespace berth::scheduler {

// Thread-compatible. All columns have the same length.
struct Columns {
  std::vector<NodeId> node;
  std::vector<double> cpu_alloc, cpu_used, cpu_nonzero, memory_alloc, memory_used, memory_nonzero,
      disk_alloc, disk_used;
  std::vector<std::int32_t> pod_room, balance_before;
  std::vector<TaintSetId> taints;
  std::vector<std::uint32_t> flags;
  std::vector<std::vector<DomainId>> domains;                                // by TopologyKeyId
  std::vector<std::pair<std::vector<double>, std::vector<double>>> scalars;  // by ResourceId

  std::uint32_t size() const { return static_cast<std::uint32_t>(node.size()); }
  void resize(std::uint32_t rows);       // new rows are zero
  void add_key();                        // one more column of domains, all kNone
  void add_scalar();                     // one more pair of columns, all zero
  void match_layout(const Columns& of);  // the same keys and scalars as there
  void copy_row(const Columns& from, std::uint32_t row, std::uint32_t to);
  Rows rows(const ClusterState& cluster, std::uint32_t begin, std::uint32_t count) const;
};

}  // namespace berth::scheduler
