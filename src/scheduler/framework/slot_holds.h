// SPDX-License-Identifier: Apache-2.0
// The room of slots in which nobody is just now. It counts on its node as if a pod were there, so
// that between an executor and its ghost, and between a ghost and its executor, nobody else takes
// it. Exists in this process alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/scope.h"
#include "kube/object.h"
#include "policy/slots/board.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

// Loop-confined to the scope's executor.
class SlotHolds {
 public:
  // `freed` is told of room that nobody holds any more. All outlive it but for the scope.
  SlotHolds(Scope&, ClusterState&, slots::SlotBoard&, std::function<void(const PodPtr&)> freed);

  static bool is_hold(std::string_view uid);

  // A pod of a Testbed leaves its node. Called before it does: its room is held from then on, until
  // the board has seen that, too, and says whose room it is.
  void instead_of(const Pod& gone);

  // For whoever takes a slot's room, and for whoever gives it back. Null: it is not held here.
  PodPtr find(const kube::Key& testbed, slots::SlotNumber) const;
  void take(const kube::Key& testbed, slots::SlotNumber);
  void give_back(const kube::Key& testbed, slots::SlotNumber);

  std::size_t size() const { return by_slot_.size() + by_pod_.size(); }

 private:
  using Place = std::pair<kube::Key, slots::SlotNumber>;
  struct OfPod {
    kube::Key testbed;
    PodPtr hold;
  };
  void look(const kube::Key& testbed);
  void look_soon(const kube::Key& testbed);
  void add(const Place&, const slots::Slot&);
  void drop(const PodPtr&);
  WallTime wall() const { return scope_.executor().clock().wall(); }

  Scope& scope_;
  ClusterState& cluster_;
  slots::SlotBoard& board_;
  std::function<void(const PodPtr&)> freed_;
  PodCompiler compiler_;
  std::map<Place, PodPtr> by_slot_;
  std::map<std::string, OfPod, std::less<>> by_pod_;  // by the uid of the pod that went
  std::set<Place> covered_;  // slots that somebody was seen in: what is not theirs is not held
  std::set<kube::Key> due_;
  bool armed_ = false;
  std::shared_ptr<const slots::SlotBoard::Listener> listening_;
};

}  // namespace berth::scheduler
