// SPDX-License-Identifier: Apache-2.0
// A block of node rows, column by column. The whole node table, the tail of its journal and a
// handful of scratch rows all look like this, so one plugin body serves full passes, catching up
// and what-ifs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/cache/ids.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

class ClusterState;
class WhatIf;
struct Columns;

namespace row_flag {
inline constexpr std::uint32_t kUnschedulable = 1;  // spec.unschedulable
inline constexpr std::uint32_t kHasPorts = 2;       // some pod on it holds a host port
inline constexpr std::uint32_t kWide = 4;  // an amount beyond 2^46: doubles are no longer exact
}  // namespace row_flag

// What a change of a row was about: its node object or its pods, and what is counted on nodes. Each
// Tally has a bit; as there may be more of them than bits, some share one.
__extension__ typedef unsigned __int128 RowChanges;
namespace row_change {
inline constexpr RowChanges kObject = 1, kPods = 2;
inline constexpr RowChanges kSuperseded = 4;  // the row has changed again since
inline constexpr RowChanges kFirstTally = 8;
inline constexpr RowChanges kAnything = ~RowChanges{0};
}  // namespace row_change

// A view, immutable for the length of a call. Resource columns are doubles holding integers
// (millicores, bytes); rows flagged kWide must be computed from int64 (ClusterState::node()).
struct Rows {
  std::uint32_t size = 0;
  const NodeId* node = nullptr;  // the node each row stands for; a scratch row keeps its origin's
  const double *cpu_alloc = nullptr, *cpu_used = nullptr, *cpu_nonzero = nullptr;
  const double *memory_alloc = nullptr, *memory_used = nullptr, *memory_nonzero = nullptr;
  const double *disk_alloc = nullptr, *disk_used = nullptr;
  const std::int32_t* pod_room = nullptr;  // allowed pods minus pods
  const std::int32_t* balance_before =
      nullptr;  // BalancedAllocation's b(allocated) for cpu, memory
  const TaintSetId* taints = nullptr;
  const std::uint32_t* flags = nullptr;
  const ClusterState* cluster = nullptr;
  const WhatIf* what_if = nullptr;  // null except for scratch rows
  const Columns* columns = nullptr;
  std::uint32_t begin = 0;  // of this view in `columns`

  const DomainId* domain(TopologyKeyId) const;  // kNone where the label is missing
  // Allocatable and used; nulls where no node and no pod on one ever named the resource.
  std::pair<const double*, const double*> scalar(ResourceId) const;
  // Every pod on the row's node, what-ifs included: those taken away are left out, those added come
  // last, in the order in which kube-scheduler would hold them.
  template <class F>
  void for_each_pod(std::uint32_t row, F&& f) const;  // f(const Pod&); what_if.h
};

}  // namespace berth::scheduler
