// SPDX-License-Identifier: Apache-2.0
// Changes to the live cluster that can be taken back: a gang is placed member by member, then kept
// or undone.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "scheduler/cache/cluster_state.h"

namespace berth::scheduler {

// Loop-confined. Nothing else may change the cluster while a trial is open.
class Trial {
 public:
  using Mark = std::size_t;

  explicit Trial(ClusterState& cluster) : cluster_(cluster) {}
  ~Trial() { undo_to(0); }  // what was not committed
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void place(PodPtr placed);         // as assumed; its node_name says where
  bool evict(std::string_view uid);  // false: it is on no node
  Mark mark() const { return steps_.size(); }
  // In reverse order and exactly, also the order of pods on a node.
  void undo_to(Mark);
  void commit() { steps_.clear(); }

 private:
  struct Step {
    bool placed;
    ClusterState::PodRecord record;  // of an eviction; of a placement only the pod
  };
  ClusterState& cluster_;
  std::vector<Step> steps_;
};

}  // namespace berth::scheduler
