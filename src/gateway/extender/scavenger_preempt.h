// SPDX-License-Identifier: Apache-2.0
// Lets a kube-scheduler that is not ours interrupt the scavenger jobs that lose the least work: its
// extender protocol's preempt verb, answered by the same choice that our own scheduler makes. Where
// scavengers are not in the way, the candidates go back as they came.
#pragma once

#include "base/scope.h"
#include "client/api.h"
#include "runtime/scavenge/scavenger_feeds.h"
#include "scheduler/doors/replica.h"
#include "scheduler/extender/extender_request.h"
#include "scheduler/preemption/scavenger_door.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. It follows pods and nodes from the
// first scavenger job on; before that there is nothing that it could say.
class ScavengerPreempt {
 public:
  // `api`, the transport and the metrics outlive it. `profile`: of the scheduler that asks.
  ScavengerPreempt(Scope&, client::Transport&, client::Api&, Metrics&, Logger, const Random&,
                   scheduler::ProfileSpec profile);

  void start();
  bool settled() const { return feeds_.settled() && (!replica_.started() || replica_.synced()); }
  bool synced() const { return settled() && feeds_.synced(); }
  scheduler::VictimsByNode preempt(scheduler::ExtenderPreemptArgs);

  const scheduler::ScavengerDoor& door() const { return door_; }
  const scheduler::Replica& replica() const { return replica_; }

 private:
  void see_to(const scheduler::PodPtr&);

  Scope& scope_;
  Logger log_;
  runtime::ScavengerFeeds feeds_;
  scheduler::Replica replica_;
  scheduler::ScavengerDoor door_;
};

}  // namespace berth::gateway
