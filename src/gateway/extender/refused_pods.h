// SPDX-License-Identifier: Apache-2.0
// Pods that were given no slot by a kube-scheduler's extender. Such a scheduler tries them again on
// its own events, and neither a SlotLedger nor a BatchJob is one of them: so, when there is a slot
// for one, it is touched.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/scope.h"
#include "client/api.h"
#include "policy/slots/board.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope.
class RefusedPods {
 public:
  RefusedPods(Scope&, client::Api&, slots::SlotBoard&);  // all of them outlive it

  void add(const kube::Object& pod, slots::SlotBoard::Asked);
  void remove(const kube::Object& pod);  // it has one now

 private:
  struct Waiting {
    kube::Key key;
    slots::SlotBoard::Asked asked;
    WallTime since;
  };
  void look_after(Duration, const kube::Key& testbed);
  void look(const kube::Key& testbed);
  void touch(const kube::Key& testbed, const std::string& uid, int slot, Waiting);
  WallTime now() const { return scope_.executor().clock().wall(); }

  Scope& scope_;
  client::Api& api_;
  slots::SlotBoard& board_;
  std::map<kube::Key, std::map<std::string, Waiting>> refused_;  // by Testbed, by uid
  std::set<kube::Key> due_;                                      // Testbeds to look at
  std::shared_ptr<const slots::SlotBoard::Listener> listener_;
};

}  // namespace berth::gateway
