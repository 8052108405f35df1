// SPDX-License-Identifier: Apache-2.0
// Keeps a board of scavenger jobs up to date from an API server: the same for the scheduler, the
// extender and the operator's own reclaim, so that all doors see alike. Nobody waits for it: a
// cluster that does not serve these kinds has an empty board.
#pragma once

#include <memory>
#include <vector>

#include "base/metrics.h"
#include "client/informer.h"
#include "policy/scavenge/board.h"

namespace berth::runtime {

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class ScavengerFeeds {
 public:
  // ScavengerJobs in both of their groups, and the policy.
  ScavengerFeeds(Scope&, client::Transport&, const Random&, Metrics* = nullptr);
  ~ScavengerFeeds();

  void start();
  // Runs once there is a job with pods; never inline. For who has much to do then, and nothing
  // before.
  void on_first_job(Task);
  // Of every kind it is known what there is, be it that the cluster does not have the kind.
  bool settled() const;
  // Settled, and the cluster has scavenger jobs of one group at least.
  bool synced() const;
  scavenge::Board& board() { return board_; }
  const scavenge::Board& board() const { return board_; }

 private:
  using Informer = client::Informer<kube::Object>;

  void tell_first();

  Scope& scope_;
  scavenge::Board board_;
  std::vector<Task> waiting_;  // for the first job
  std::vector<std::unique_ptr<Informer>> informers_;
};

}  // namespace berth::runtime
