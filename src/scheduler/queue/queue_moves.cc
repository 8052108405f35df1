// SPDX-License-Identifier: Apache-2.0
// How pods move between the queues, and who is asked about it.
#include <utility>

#include "scheduler/queue/planted_fault.h"
#include "scheduler/queue/scheduling_queue.h"

namespace berth::scheduler {
namespace {

Place origin(const QueuedPod& queued) {
  return queued.place == Place::kNowhere ? queued.last_place : queued.place;
}

}  // namespace

bool SchedulingQueue::passes(const PreEnqueue& plugin, QueuedPod& queued) {
  const Instant start = clock_.now();
  const Status status = plugin.pre_enqueue(*queued.pod);
  observer_.pre_enqueue_ran(plugin.id(), queued.pod->spec->scheduler_name, status.code,
                            clock_.now() - start);
  if (status.ok()) return true;
  if (!queued.rejectors().has(plugin.id()))
    observer_.unschedulable(plugin.id(), queued.pod->spec->scheduler_name, 1);
  queued.unschedulable_plugins.insert(plugin.id());
  queued.gating_plugin = plugin.id();
  queued.gating_events = table_.events_of(plugin.id());
  return false;
}

void SchedulingQueue::run_pre_enqueue(QueuedPod& queued) {
  const Instant start = clock_.now();
  const int profile = table_.profile_of(*queued.pod);
  const PluginId first = queued.gating_plugin;
  bool passed = true;
  if (profile != RequeueTable::kNoProfile) {
    const auto& plugins = table_.profiles()[static_cast<std::size_t>(profile)].pre_enqueue;
    for (const PreEnqueue* plugin : plugins)
      if (passed && plugin->id() == first) passed = passes(*plugin, queued);
    for (const PreEnqueue* plugin : plugins)
      if (passed && plugin->id() != first) passed = passes(*plugin, queued);
  }
  if (passed) queued.gating_plugin = PluginId::kNone;
  observer_.pre_enqueue_done(queued.pod->spec->scheduler_name, clock_.now() - start);
}

void SchedulingQueue::leave(QueuedPod& queued) {
  switch (queued.place) {
    case Place::kActive:
      active_.remove(queued);
      queued.last_place = std::exchange(queued.place, Place::kNowhere);
      observer_.pending(QueueName::kActive, -1);
      break;
    case Place::kBackoff:
    case Place::kErrorBackoff:
      backoff_.remove(queued);
      observer_.pending(QueueName::kBackoff, -1);
      break;
    case Place::kUnschedulable:
      pool_.remove(queued);
      break;
    case Place::kNowhere:
    case Place::kInFlight:
      break;
  }
}

void SchedulingQueue::gate(QueuedPod& queued, std::string_view event) {
  // A gated pod makes no attempt that would clear this.
  queued.was_flushed = false;
  if (queued.place == Place::kUnschedulable) return pool_.refresh(queued);
  const Place from = origin(queued);
  pool_.add(queued);
  observer_.incoming(QueueName::kUnschedulable, event);
  observer_.moved(queued, from, Place::kUnschedulable, event);
}

bool SchedulingQueue::move_to_active(QueuedPod& queued, std::string_view event, bool from_backoff) {
  // PreEnqueue ran when the pod entered backoffQ, since it might have been popped from there.
  if (from_backoff && queued.place != Place::kNowhere) leave(queued);
  if (!(options_.pop_from_backoff && from_backoff)) run_pre_enqueue(queued);
  return settle_active(queued, event);
}

bool SchedulingQueue::settle_active(QueuedPod& queued, std::string_view event) {
  if (queued.gated()) {
    // One that is in backoffQ stays there and is asked again when it leaves.
    if (queued.place == Place::kNowhere || queued.place == Place::kUnschedulable ||
        planted(Fault::kGatedInBackoff))
      gate(queued, event);
    return false;
  }
  if (!queued.initial_attempt_timestamp) queued.initial_attempt_timestamp = clock_.now();
  const Place from = origin(queued);
  if (queued.place == Place::kActive) {
    active_.fix(queued);
  } else {
    leave(queued);
    if (planted(Fault::kTimestamp)) queued.timestamp = clock_.now();
    queued.place = Place::kActive;
    active_.push(queued);
    observer_.pending(QueueName::kActive, 1);
  }
  observer_.incoming(QueueName::kActive, event);
  observer_.moved(queued, from, Place::kActive, event);
  if (event == label_add_ || event == label_update_) nominator_.add(*queued.pod, std::nullopt);
  became_ready();
  return true;
}

bool SchedulingQueue::move_to_backoff(QueuedPod& queued, std::string_view event) {
  const Place from = origin(queued);
  if (options_.pop_from_backoff) {
    run_pre_enqueue(queued);
    if (queued.gated()) {
      gate(queued, event);
      return false;
    }
  }
  if (queued.place == Place::kUnschedulable) leave(queued);
  if (queued.place == Place::kNowhere) observer_.pending(QueueName::kBackoff, 1);
  backoff_.add(queued);
  observer_.incoming(QueueName::kBackoff, event);
  observer_.moved(queued, from, queued.place, event);
  if (options_.pop_from_backoff) became_ready();
  return true;
}

void SchedulingQueue::requeue(QueuedPod& queued, Strategy strategy, std::string_view event) {
  if (strategy == Strategy::kSkip) {
    const Place from = origin(queued);
    pool_.add(queued);
    observer_.incoming(QueueName::kUnschedulable, event);
    observer_.moved(queued, from, Place::kUnschedulable, event);
  } else if (strategy == Strategy::kAfterBackoff && backoff_.backing_off(queued)) {
    move_to_backoff(queued, event);
  } else {
    move_to_active(queued, event, false);
  }
}

void SchedulingQueue::move(std::span<const UnschedulablePool::Woken> woken,
                           const RequeueTable::Kind& kind, const Change& change) {
  for (const auto& [queued, strategy] : woken) {
    pool_.remove(*queued);
    requeue(*queued, strategy, kind.label);
  }
  in_flight_.record(kind, change);
}

Strategy SchedulingQueue::decide(const QueuedPod& queued, const RequeueTable::Kind& kind,
                                 const Change& change) const {
  return table_.decide(queued, kind, change, *cluster_, clock_, observer_);
}

// determineSchedulingHintForInFlightPod.
Strategy SchedulingQueue::replay(const QueuedPod& queued) const {
  const PluginSet rejectors = queued.rejectors();
  if (rejectors.empty()) return Strategy::kAfterBackoff;
  if (planted(Fault::kForgetReplay)) return Strategy::kSkip;
  const int profile = table_.profile_of(*queued.pod);
  Strategy best = Strategy::kSkip;
  const bool was_in_flight = in_flight_.replay(queued.pod->uid, [&](const InFlight::Event& event) {
    if (!RequeueTable::may_wake(*event.kind, profile, rejectors)) return true;
    const Strategy strategy = decide(queued, *event.kind, event.change);
    if (strategy == Strategy::kSkip) return true;
    best = strategy;
    // Only a pending plugin can do better.
    return strategy != Strategy::kImmediately && !queued.pending_plugins.empty();
  });
  return was_in_flight ? best : Strategy::kAfterBackoff;
}

}  // namespace berth::scheduler
