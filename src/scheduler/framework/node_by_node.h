// SPDX-License-Identifier: Apache-2.0
// For plugins that think node by node: one call a node instead of a loop over columns. Such answers
// are never kept from one pod to the next, so they are always right and a little slower.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/plugin.h"

namespace berth::scheduler {

// One node as an attempt sees it, what-ifs included: Rows and a row number with names. A view for
// the length of a call.
class NodeView {
 public:
  NodeView(const Rows& rows, std::uint32_t row) : rows_(rows), row_(row) {}

  const Node& object() const { return rows_.cluster->node(rows_.node[row_]); }
  const std::string& name() const { return object().name; }
  const Labels& labels() const { return *object().labels; }
  const std::vector<kube::Taint>& taints() const { return object().taints; }

  // Doubles hold these exactly up to 2^53.
  double allocatable_millicores() const { return rows_.cpu_alloc[row_]; }
  double allocatable_memory() const { return rows_.memory_alloc[row_]; }
  double requested_millicores() const { return rows_.cpu_used[row_]; }
  double requested_memory() const { return rows_.memory_used[row_]; }
  std::int32_t room_for_pods() const { return rows_.pod_room[row_]; }
  template <class F>
  void for_each_pod(F&& f) const {  // f(const Pod&)
    rows_.for_each_pod(row_, f);
  }

  const Rows& rows() const { return rows_; }
  std::uint32_t row() const { return row_; }

 private:
  const Rows& rows_;
  std::uint32_t row_;
};

class FilterNodeByNode : public Filter {
 public:
  // Success: the pod may go there. Unschedulable or Unresolvable: it may not, for these reasons. An
  // error ends the attempt.
  virtual Status check(const Cycle&, const NodeView&) const = 0;

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep, Rejections* why) const final {
    Status ended;
    keep.for_each([&](std::uint32_t row) {
      if (!ended.ok()) return;
      Status status = check(cycle, NodeView(rows, row));
      if (status.ok()) return;
      if (!status.rejected()) {
        ended = std::move(status);
        return;
      }
      keep.erase(row);
      if (why != nullptr)
        why->reject(row, why->table().id(id(), status.code, std::move(status.reasons)));
    });
    return ended;
  }
};

class ScoreNodeByNode : public Score {
 public:
  virtual std::int64_t points(const Cycle&, const NodeView&) const = 0;  // 0 to 100

  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const final {
    of.for_each([&](std::uint32_t row) { raw[row] = points(cycle, NodeView(rows, row)); });
    return {};
  }
};

// Both.
class NodeByNode : public FilterNodeByNode, public ScoreNodeByNode {};

}  // namespace berth::scheduler
