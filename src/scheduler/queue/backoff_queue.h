// SPDX-License-Identifier: Apache-2.0
// Pods that wait out their backoff. Time is looked at in windows of a whole second, so that pods
// due in the same second leave together, in activeQ's order.
#pragma once

#include <vector>

#include "base/time.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/queue/go_heap.h"
#include "scheduler/queue/queued_pod.h"

namespace berth::scheduler {

struct QueueOptions {
  Duration initial_backoff = std::chrono::seconds(1);
  Duration max_backoff = std::chrono::seconds(10);  // 0: no backoff at all
  Duration max_in_unschedulable = std::chrono::minutes(5);
  // SchedulerPopFromBackoffQ: an empty activeQ is helped out from backoffQ, and windows are
  // aligned.
  bool pop_from_backoff = true;
};

// activeQ's order: QueueSort of the first profile.
struct ActiveLess {
  const QueueSort* sort;
  bool operator()(const QueuedPod& a, const QueuedPod& b) const {
    return sort->less({*a.pod, a.timestamp}, {*b.pod, b.timestamp});
  }
};

// Loop-confined.
class BackoffQueue {
 public:
  static constexpr Duration kWindow = std::chrono::seconds(1);

  BackoffQueue(const Clock&, const QueueOptions&, const QueueSort&);
  BackoffQueue(const BackoffQueue&) = delete;
  BackoffQueue& operator=(const BackoffQueue&) = delete;

  // Equality with the window of now counts as backing off still.
  bool backing_off(QueuedPod&) const;
  // When the pod's backoff ends; long ago for one that has none.
  Instant expiration(QueuedPod&) const;
  Duration duration(int count) const;  // after that many failures
  Instant window_of(Instant) const;    // where the window that holds it starts
  Instant next_tick(Instant) const;    // the next time to flush, after it

  void add(QueuedPod&);                     // to the heap its rejectors ask for; sets its place
  void fix(QueuedPod&);                     // its pod was replaced
  void remove(QueuedPod&);                  // of either heap
  QueuedPod* pop_early();                   // the first of those that plugins refused; null: none
  std::vector<QueuedPod*> pop_completed();  // those refused by plugins first

  bool has_early() const { return !refused_.empty(); }
  std::size_t size() const { return refused_.size() + failed_.size(); }
  // Refused ones first, each heap as it stands.
  const std::vector<QueuedPod*>& refused() const { return refused_.items(); }
  const std::vector<QueuedPod*>& failed() const { return failed_.items(); }

 private:
  struct Less {
    const BackoffQueue* queue;
    bool with_sort;
    bool operator()(QueuedPod& a, QueuedPod& b) const;
  };
  using Heap = GoHeap<QueuedPod, Less>;
  void pop_completed(Heap&, std::vector<QueuedPod*>&);

  const Clock& clock_;
  const QueueOptions options_;
  ActiveLess active_less_;
  Instant started_;
  Duration phase_;  // what a whole second of the wall clock is in Instants
  Heap refused_;    // podBackoffQ
  Heap failed_;     // podErrorBackoffQ
};

}  // namespace berth::scheduler
