// SPDX-License-Identifier: Apache-2.0
// The scheduler's view of a cluster without a scheduler: fed by the same feeds, judged by the same
// filters. For who has to say whom another scheduler, or nobody, should interrupt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "policy/scavenge/board.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/preemption/lost_work.h"
#include "scheduler/queue/nominator.h"
#include "scheduler/run/feeds.h"

namespace berth::scheduler {

// Loop-confined to its scope's executor; outlives that scope.
class Replica final : private FeedHandler {
 public:
  // `profile`: what the scheduler that is helped decides by. Transport and board outlive it.
  Replica(Scope&, client::Transport&, Random, Logger, const scavenge::Board&, ProfileSpec profile,
          Registry);
  ~Replica() override;

  void start();  // again: nothing
  bool started() const { return started_; }
  bool synced() const { return caught_up_; }  // nodes, pods and everything that filters read
  const ClusterState& cluster() const { return cluster_; }
  PodPtr pending(std::string_view ns, std::string_view name) const;  // null: gone or bound
  std::vector<PodPtr> pending() const;
  // A pod that was not seen here yet.
  Result<PodPtr> compiled(const kube::Object& pod) { return compiler_.compile(pod); }
  // Told once it is synced, and whenever a pod or a node came, went or changed; never inline.
  void on_change(std::function<void()> listener) { changed_ = std::move(listener); }
  // The pod's room on the node is being made: others count with it until it is bound or gone.
  void promise(const Pod& pod, const std::string& node) { nominator_.add(pod, node); }

  // nullopt: it fits as it is, or not my case.
  std::optional<LostWork> pick(const PodPtr&, WallTime now, bool shrink_first = false);

 private:
  void pod_added(const PodPtr&) override;
  void pod_updated(const PodPtr& before, const PodPtr& after) override;
  void pod_deleted(const PodPtr& last) override;
  void node_added(const NodePtr&) override;
  void node_updated(const NodePtr& before, const NodePtr& after) override;
  void node_deleted(const NodePtr& last) override;
  void object_changed(const kube::Object& before, const kube::Object& after) override;
  void tell();

  Scope& scope_;
  Feeds feeds_;
  const scavenge::Board& board_;
  ClusterState cluster_;
  StringMap<PodPtr> pending_;  // by "ns/name"
  Nominator nominator_;
  PodCompiler compiler_;
  ReasonTable reasons_;
  Profile profile_;
  SearchStart start_;
  Decider decider_;
  std::function<void()> changed_;
  bool started_ = false, caught_up_ = false, telling_ = false;
};

}  // namespace berth::scheduler
