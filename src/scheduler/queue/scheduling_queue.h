// SPDX-License-Identifier: Apache-2.0
// Which pod is tried next. A pod that may be tried is in activeQ; one that failed waits out its
// backoff in backoffQ, or waits in the pool for an event that could help; pods that were popped are
// in flight until done.
//
//   add ──> active ──pop──> in flight ──done──> (gone)
//             ^ ^               │ add_unschedulable_if_not_present
//             │ └── backoff <───┤
//             └──────^── pool <─┘   move_all, activate, update, 5 minutes
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "scheduler/queue/backoff_queue.h"
#include "scheduler/queue/in_flight.h"
#include "scheduler/queue/nominator.h"
#include "scheduler/queue/queue_observer.h"
#include "scheduler/queue/queued_pod.h"
#include "scheduler/queue/requeue_table.h"
#include "scheduler/queue/unschedulable_pool.h"

namespace berth::scheduler {

struct QueueSetup {
  QueueOptions options = {};
  const QueueSort* sort = nullptr;  // of the first profile
  std::vector<QueueProfile> profiles = {};
  PluginId extender = PluginId::kNone;    // the pseudo-plugin of the extenders, where there are any
  const ClusterState* cluster = nullptr;  // for hints
  Nominator::Find known_pod = nullptr;    // what the informer has; null: any pod is taken to exist
  QueueObserver* observer = nullptr;      // null: nobody looks
  // A pod may have become poppable. Called at the end of the operation that did it; it must not
  // call the queue but post.
  std::function<void()> on_ready = nullptr;
};

// Loop-confined. What the setup points to outlives it.
class SchedulingQueue {
 public:
  using PreCheck = UnschedulablePool::PreCheck;

  SchedulingQueue(const Clock&, QueueSetup);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  // Starts the timers: backoff each whole second, leftovers of the pool each 30 s. They run only
  // while there is something to flush. The scope outlives the queue.
  void run(Scope&);
  // Forgets what is in flight and stops the timers; nothing is popped any more.
  void close();

  // Of unassigned pods, as the informer tells.
  void add(const PodPtr&);
  void update(const PodPtr& before, const PodPtr& after);
  void remove(const Pod&);

  // The next pod to try, now in flight; null: none. From backoffQ if activeQ is empty.
  QueuedPodPtr pop();
  // That pod, as if it had been activated and was first; null: it is nowhere, or gated.
  QueuedPodPtr pop_specific(const Pod&);
  // Back from an attempt that failed, and no longer in flight. The caller has put the informer's
  // newest version in queued->pod. Fails where a pod of that name is queued already.
  Result<Ok> add_unschedulable_if_not_present(QueuedPodPtr queued, Rejectors);
  // The pod needs no further attempt: it is bound, or gone. Harmless when repeated.
  void done(std::string_view uid) { in_flight_.done(uid); }

  // To activeQ without backoff, by the order given. One that is in flight is remembered.
  void activate(std::span<const PodPtr> pods);
  // Something happened: lets go of the pods in the pool that it may help. Pods that `pre_check`
  // refuses are left alone.
  void move_all(const Change&, const PreCheck& pre_check = nullptr);

  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }

  const QueuedPod* find(std::string_view ns, std::string_view name) const;  // null: not queued
  bool in_flight(std::string_view uid) const { return in_flight_.has(uid); }
  std::vector<PodPtr> in_flight_pods() const { return in_flight_.pods(); }
  std::size_t in_flight_events() const { return in_flight_.events(); }
  std::vector<PodPtr> active_pods() const;
  std::vector<PodPtr> backoff_pods() const;
  std::vector<PodPtr> unschedulable_pods() const;
  std::size_t wait_groups() const { return pool_.groups(); }
  std::string summary() const;  // "activeQ:1; backoffQ:0; unschedulablePods:2"

  // What the timers call.
  void flush_backoff_completed();
  void flush_unschedulable_leftover();

 private:
  QueuedPod* lookup(std::string_view ns, std::string_view name) const;
  void enqueue_new(const PodPtr&, std::string_view event);
  void update_in_pool(QueuedPod&, const PodPtr& before, const PodPtr& after,
                      const std::vector<ClusterEvent>& events);
  QueuedPodPtr release(QueuedPod&);  // takes it out of the index; it is in no queue by now
  bool to_in_flight(QueuedPod&);
  bool activate_one(const Pod&);

  // PreEnqueue plugins of the pod's profile, the gating one first.
  void run_pre_enqueue(QueuedPod&);
  bool passes(const PreEnqueue&, QueuedPod&);
  // False: it is gated, and in the pool.
  bool move_to_active(QueuedPod&, std::string_view event, bool from_backoff);
  bool move_to_backoff(QueuedPod&, std::string_view event);
  bool settle_active(QueuedPod&, std::string_view event);
  void gate(QueuedPod&, std::string_view event);
  void leave(QueuedPod&);  // whichever queue it is in
  void requeue(QueuedPod&, Strategy, std::string_view event);
  void move(std::span<const UnschedulablePool::Woken>, const RequeueTable::Kind&, const Change&);
  Strategy decide(const QueuedPod&, const RequeueTable::Kind&, const Change&) const;
  Strategy replay(const QueuedPod&) const;

  void became_ready() { ready_ = true; }
  void announce();
  void arm_backoff();
  void arm_leftover();

  const Clock& clock_;
  const QueueOptions options_;
  const RequeueTable table_;
  const ClusterState* const cluster_;
  QueueObserver& observer_;
  std::function<void()> on_ready_;

  ByText<QueuedPodPtr> pods_;  // "namespace/name"; everything that is queued
  mutable std::string key_;    // room for making keys
  GoHeap<QueuedPod, ActiveLess> active_;
  BackoffQueue backoff_;
  UnschedulablePool pool_;
  InFlight in_flight_;
  Nominator nominator_;
  const std::string label_add_, label_update_;  // after which a pod's own nomination is taken up

  Scope* scope_ = nullptr;
  Instant started_;
  TimerId backoff_timer_ = TimerId::kNone;
  TimerId leftover_timer_ = TimerId::kNone;
  bool ready_ = false;
  bool closed_ = false;
};

}  // namespace berth::scheduler
