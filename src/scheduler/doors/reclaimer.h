// SPDX-License-Identifier: Apache-2.0
// The operator's own way to make room: for pods that fit nowhere and may not preempt, because they
// are ghosts of a Testbed, or because the policy says so of ordinary pods and the webhook has given
// them the class ordinary-polite. It needs nothing of whoever schedules them. Only scavenger jobs
// ever have to go for it.
#pragma once

#include <map>
#include <string>

#include "base/metrics.h"
#include "client/api.h"
#include "runtime/scavenge/scavenger_feeds.h"
#include "scheduler/doors/replica.h"
#include "scheduler/preemption/scavenger_door.h"

namespace berth::scheduler {

// Loop-confined to its scope's executor; outlives that scope. One in a cluster: whoever leads.
class Reclaimer {
 public:
  // The transport and metrics outlive it. `profile`: of the scheduler that will place the pods.
  Reclaimer(Scope&, client::Transport&, Metrics&, const Logger&, const Random&,
            ProfileSpec profile);

  void start();
  const ScavengerDoor& door() const { return door_; }
  const Replica& replica() const { return replica_; }

 private:
  void look_soon();
  void look();
  bool waits_for_room(const Pod&) const;
  void verify(const PodPtr&);
  void reclaim(const PodPtr&, const kube::Object& live);

  Scope& scope_;
  Logger log_;
  client::Api api_;
  runtime::ScavengerFeeds feeds_;
  Replica replica_;
  ScavengerDoor door_;
  Labelled<Counter> reclaims_;
  std::map<std::string, Instant, std::less<>> served_;  // by uid: when it was looked at last
  bool due_ = false, reviewing_ = false;
};

}  // namespace berth::scheduler
