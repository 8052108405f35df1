// SPDX-License-Identifier: Apache-2.0
// Pods taken from and put on single nodes without touching the cluster: preemption and nominated
// pods. Each scratch row is judged alone, as kube-scheduler judges a cloned NodeInfo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/columns.h"

namespace berth::scheduler {

// Loop-confined; the cluster must not change while it lives.
class WhatIf {
 public:
  // `moved` is told after each move, for plugins that keep deltas.
  using Moved = std::function<void(WhatIf&, std::uint32_t row, const Pod&, int sign)>;
  explicit WhatIf(const ClusterState& cluster, Moved moved = nullptr)
      : cluster_(cluster), moved_(std::move(moved)) {
    scratch_.match_layout(cluster.table());
  }
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  std::uint32_t open(NodeId);  // a copy of the node's row; the node must have one
  void remove(std::uint32_t row, const PodPtr&);  // a pod on the node, or one that was added
  void add(std::uint32_t row, const PodPtr&);     // also puts back what was removed
  Rows rows() const { return row(0, scratch_.size()); }
  Rows row(std::uint32_t first, std::uint32_t count = 1) const;
  std::uint32_t size() const { return scratch_.size(); }
  // Exact amounts, for rows flagged kWide: ClusterState's with the moves in.
  NodeSums sums(std::uint32_t row) const;
  std::int64_t scalar_used(std::uint32_t row, ResourceId, std::string_view name) const;

  const std::vector<PodPtr>& added(std::uint32_t row) const { return moves_[row].added; }
  const std::vector<PodPtr>& removed(std::uint32_t row) const { return moves_[row].removed; }
  // A plugin's own memory for a row, by its slot; empty at first.
  std::vector<std::int32_t>& deltas(std::uint32_t row, std::size_t slot);
  std::span<const std::int32_t> deltas(std::uint32_t row, std::size_t slot) const;

 private:
  struct Moves {
    std::vector<PodPtr> added, removed;
    std::vector<std::vector<std::int32_t>> deltas;
  };
  void account(std::uint32_t row, const Pod&, int sign);

  const ClusterState& cluster_;
  Moved moved_;
  Columns scratch_;
  std::vector<Moves> moves_;
};

template <class F>
void Rows::for_each_pod(std::uint32_t row, F&& f) const {
  const std::vector<PodPtr>& pods = cluster->pods_on(node[row]);
  if (what_if == nullptr) {
    for (const PodPtr& pod : pods) f(*pod);
    return;
  }
  const std::vector<PodPtr>& removed = what_if->removed(begin + row);
  for (const PodPtr& pod : pods)
    if (std::find(removed.begin(), removed.end(), pod) == removed.end()) f(*pod);
  for (const PodPtr& pod : what_if->added(begin + row)) f(*pod);
}

}  // namespace berth::scheduler
