// SPDX-License-Identifier: Apache-2.0
// The scheduler itself: what happens in the cluster goes into the cluster state and the queue; pods
// come out of the queue one after another, are given a node, and are bound.
//
//   feeds ──> handlers ──> ClusterState, SchedulingQueue
//                               │ pop
//                         attempt (decide, assume, reserve, permit)
//                           │ placed            │ not placed
//                     binding cycle          failure (requeue, event, condition)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/config/config.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/slot_holds.h"
#include "scheduler/metrics/scheduler_metrics.h"
#include "scheduler/preemption/scavenger_door.h"
#include "scheduler/queue/scheduling_queue.h"
#include "scheduler/run/feeds.h"
#include "scheduler/run/observer.h"
#include "scheduler/run/queue_metrics.h"
#include "scheduler/run/waiting_pods.h"

namespace berth::scheduler {

// Tells people what became of a pod. The real one is client::EventRecorder, one a profile.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void event(const std::string& profile, const Pod& regarding, bool warning,
                     std::string reason, std::string action, std::string note,
                     const Pod* related) = 0;
};

struct SchedulerParts {
  Scope& scope;      // everything that is under way; closing it ends the scheduler
  client::Api& api;  // outlives the scheduler, as everything here
  EventSink& events;
  SchedulerMetrics& metrics;
  Logger log;
  Random random;
  // Of config.extenders, in calling order.
  std::vector<Extender*> extenders = {};
  DecideMode mode = DecideMode::kCached;
  std::uint64_t verify_decisions = 0;  // DeciderSpec::verify_every
  // The two paths disagreed about a pod; nothing has changed since.
  std::function<void(const Pod&)> mismatch = nullptr;
  SchedulerObserver* observer = nullptr;        // null: nobody looks
  slots::SlotBoard* slots = nullptr;            // null: no profile has the plugin Slots
  const scavenge::Board* scavengers = nullptr;  // null: nobody follows them
  std::string instance = {};                    // of this process, in Events about scavenger jobs
  Metrics* ours = nullptr;                      // for what kube-scheduler does not measure
};

// Loop-confined to the scope's executor; outlives that scope.
class Scheduler final : public FeedHandler, private Services {
 public:
  Scheduler(SchedulerParts parts, const SchedulerConfig& config, Registry registry);
  ~Scheduler() override;

  void start();  // begins to try pods; before that it only listens
  // No pod is tried any more and pods that wait are refused; binds under way go on. `done` runs
  // when the last of them has ended.
  void stop(Task done);

  const ClusterState& cluster() const { return cluster_; }
  const SchedulingQueue& queue() const { return *queue_; }
  const NominatedPods& nominated() const override;
  std::size_t binding() const { return binding_.size(); }
  // How long ago a pod that is being bound was popped; nullopt: it is not being bound.
  std::optional<Duration> under_way(std::string_view uid) const;
  std::string_view plugin_name(PluginId) const;  // "" of kNone
  // Which scavenger jobs had to go lately, and why those; null: nobody follows them.
  const ScavengerDoor* scavenger_door() const { return scavengers_.get(); }

  void pod_added(const PodPtr&) override;
  void pod_updated(const PodPtr& before, const PodPtr& after) override;
  void pod_deleted(const PodPtr& last) override;
  void node_added(const NodePtr&) override;
  void node_updated(const NodePtr& before, const NodePtr& after) override;
  void node_deleted(const NodePtr& last) override;
  void object_changed(const kube::Object& before, const kube::Object& after) override;

 private:
  struct ProfileState;  // a profile with its shapes and decider
  // One pod on its way from the queue to its node.
  struct Placement {
    QueuedPodPtr queued;
    ProfileState* profile = nullptr;
    Instant start;
    PodPtr pod;                        // as decided about
    std::unique_ptr<Attempt> attempt;  // what plugins found out about it
    std::string node;
    PodPtr assumed;  // with its node
    std::vector<std::pair<PluginId, Duration>> waits;
    std::optional<Status> permission;  // how the waiting ended
    bool announced = false;            // the nomination that tells others is written
    std::vector<PreBind*> pre_binds;   // those with something to do
    bool in_pre_bind = false, cancelled = false;
    bool sampled = false;  // its plugins are timed one by one
    std::uint32_t nodes = 0, fit = 0;
    StageTimes took = {};
    Instant decided = {};
    Instant stage_start = {};

    Cycle& cycle() { return attempt->cycle; }
  };
  using PlacementPtr = std::shared_ptr<Placement>;

  DeciderSpec decider_spec(const SchedulerConfig&);

  // attempt.cc
  void wake();
  void decide_some();
  void try_one(QueuedPodPtr);
  Decision decide(Placement&);
  PluginProbe* probe_of(const Placement&) const;  // null: it is not in the sample
  bool skip(const ProfileState&, const Pod&);
  void conclude(const PlacementPtr&, Decision);
  bool still_wanted(const Placement&) const;  // after a while in which anything may have happened
  void place(const PlacementPtr&);
  Status reserve(Placement&);
  Status permit(Placement&);
  bool give_up(Placement&);  // unreserve and forget; false: its place is not ours to free
  ProfileState* profile_of(const Pod&);

  // refusing.cc
  struct Refusal;
  using RefusalPtr = std::shared_ptr<Refusal>;
  void refused(const PlacementPtr&, Decision);
  void post_filter(const RefusalPtr&);
  bool answered(Refusal&, const PostFilter&, PostFilterResult, Instant since);
  void post_filtered(const RefusalPtr&);
  void refusal_ended(const RefusalPtr&);
  void resume(const Pod&);  // its attempt ended; others need not wait for it any more

  // preempting.cc
  struct Preempting;
  using PreemptingPtr = std::shared_ptr<Preempting>;
  void ask_next_to_preempt(const PreemptingPtr&);
  Result<Ok> take_victims(Preempting&, const Extender&, const VictimsByNode&);

  // extending.cc
  struct Asking;
  bool ask_extenders(const PlacementPtr&);  // false: none is interested
  void ask_about(const std::shared_ptr<Asking>&, Decision);
  void ask_filter(const std::shared_ptr<Asking>&);
  void filtered(const std::shared_ptr<Asking>&);
  void ask_scores(const std::shared_ptr<Asking>&);
  void answered(const std::shared_ptr<Asking>&);
  ExtenderArgs extender_args(const Asking&, const Extender&) const;

  // binding.cc
  void begin_binding(const PlacementPtr&);
  void wait_on_permit(const PlacementPtr&);
  void permitted(const PlacementPtr&, const Status&);
  void pre_bind(const PlacementPtr&, std::size_t next);
  void bind(const PlacementPtr&, std::size_t next_extender);
  void bind_with(const PlacementPtr&, std::size_t next);
  void bind_refused(const PlacementPtr&, const Bind&, const Error&);
  void bound(const PlacementPtr&);
  // `fit`: it was refused as by a filter, and waits for what may help.
  void binding_failed(const PlacementPtr&, const Status&, bool fit = false);
  void abandon(const PlacementPtr&);  // without another attempt
  void binding_ended(const PlacementPtr&);

  // failure.cc
  // How the nomination of a pod that was not placed changes: not at all, or to a node ("" clears
  // it).
  using Nomination = std::optional<std::string>;
  void report_failure(const Placement&, const Status&, const Diagnosis* fit,
                      std::string_view message);
  void handle_failure(Placement&, const Status&, const Diagnosis* fit, std::string message,
                      const Nomination&);
  void patch_status(const Pod&, const PodCondition*, const Nomination&, Fn<void()> then = nullptr);
  void send_status(const kube::Key&, const std::string& patch, Fn<void()> then, int tries_left,
                   Duration wait);

  // handlers.cc
  bool responsible(const Pod&) const;
  void assumed_pod_deleted(const Pod&);

  // Services
  Scope& scope() override { return parts_.scope; }
  client::Api& api() override { return parts_.api; }
  Logger& log() override { return parts_.log; }
  Random& random() override { return parts_.random; }
  WaitingPod* waiting(std::string_view uid) override { return waiting_->find(uid); }
  void for_each_waiting(Fn<void(WaitingPod&)> f) override { waiting_->for_each(std::move(f)); }
  bool cancel_pre_bind(std::string_view uid) override;
  bool pre_bind_cancelled(std::string_view uid) const override;
  StorageState* storage() override { return &cluster_.storage(); }
  slots::SlotBoard* slots() override { return parts_.slots; }
  SlotHolds* holds() override { return holds_.get(); }
  ScavengerDoor* scavengers() override { return scavengers_.get(); }
  void activate(const std::vector<PodPtr>& pods) override { queue_->activate(pods); }
  PodPtr pending_pod(std::string_view ns, std::string_view name) const override;
  void clear_nomination(const Pod&) override;
  PodPtr placed_pod(std::string_view uid) const override { return cluster_.pod(uid); }
  bool extenders_preempt(const Pod&) const override;
  void ask_to_preempt(const PodPtr& preemptor, std::vector<PreemptionCandidate>,
                      Done<std::vector<PreemptionCandidate>>) override;
  bool preempts_asynchronously() const override { return features_.async_preemption; }
  void pause_for(const Pod& pod) override { paused_for_.insert(pod.uid); }
  void preemption_attempted() override { parts_.metrics.preemption_attempts.add(); }
  void preempted(std::size_t victims) override { parts_.metrics.preempted(victims); }
  void evictions_ended(bool ok, Duration took) override { parts_.metrics.evicted(ok, took); }
  void event(const Pod& regarding, bool warning, std::string reason, std::string action,
             std::string note, const Pod* related) override;

  // The pseudo-plugin that stands for all extenders: one past the registry.
  PluginId extenders() const { return static_cast<PluginId>(registry_.size()); }
  Instant now() const { return clock_.now(); }
  void stage_ended(Placement&, Stage, Code);  // since placement.stage_start
  void plugin_ran(const Placement&, const Plugin&, Stage, Code, Instant since);
  void tell_metrics();
  void cache_changed();  // pods or nodes came or went

  SchedulerParts parts_;
  const Clock& clock_;  // also after the scope is gone
  Registry registry_;
  const Features features_;
  ClusterState cluster_;
  ReasonTable reasons_;
  std::unique_ptr<SlotHolds> holds_;  // null: nobody follows slots
  std::unique_ptr<ScavengerDoor> scavengers_;
  StringMap<PodPtr> pending_;  // unassigned pods, by "ns/name"
  std::unique_ptr<WaitingPods> waiting_;
  std::unique_ptr<QueueMetrics> queue_metrics_;
  std::unique_ptr<SchedulingQueue> queue_;
  std::vector<std::unique_ptr<ProfileState>> profiles_;
  std::vector<std::string_view> plugin_names_;  // by id, the extenders last
  StringMap<PlacementPtr> binding_;             // by uid: assumed, not yet bound or given up
  SearchStart search_start_;
  std::set<std::string, std::less<>> paused_for_;  // uids of pods that others wait for
  Task stopped_;
  Instant woken_ = {};
  bool running_ = false, deciding_ = false, telling_size_ = false;
};

}  // namespace berth::scheduler
