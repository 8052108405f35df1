// SPDX-License-Identifier: Apache-2.0
// What comes in from outside. How pods move between the queues is in queue_moves.cc.
#include "scheduler/queue/scheduling_queue.h"

#include <fmt/format.h>

#include "base/check.h"
#include "scheduler/queue/planted_fault.h"

namespace berth::scheduler {
namespace {

constexpr Duration kLeftoverPeriod = std::chrono::seconds(30);
constexpr ClusterEvent kForceActivate{EventResource::kWildcard, action::kAll, "ForceActivate"};
constexpr ClusterEvent kUnschedulableTimeout{EventResource::kWildcard, action::kAll,
                                             "UnschedulableTimeout"};

void append_pods(const std::vector<QueuedPod*>& from, std::vector<PodPtr>& to) {
  for (const QueuedPod* queued : from) to.push_back(queued->pod);
}

}  // namespace

SchedulingQueue::SchedulingQueue(const Clock& clock, QueueSetup setup)
    : clock_(clock),
      options_(setup.options),
      table_(std::move(setup.profiles), setup.extender),
      cluster_(setup.cluster),
      observer_(setup.observer != nullptr ? *setup.observer : QueueObserver::none()),
      on_ready_(std::move(setup.on_ready)),
      active_(ActiveLess{setup.sort}),
      backoff_(clock, setup.options, *setup.sort),
      pool_(table_, observer_),
      in_flight_(observer_),
      nominator_(std::move(setup.known_pod),
                 [this](std::string_view ns, std::string_view name) {
                   const QueuedPod* queued = find(ns, name);
                   return queued != nullptr ? queued->pod : nullptr;
                 }),
      label_add_(ClusterEvent{EventResource::kUnscheduledPod, action::kAdd}.label()),
      label_update_(ClusterEvent{EventResource::kUnscheduledPod, action::kUpdate}.label()),
      started_(clock.now()) {}

SchedulingQueue::~SchedulingQueue() {
  if (scope_ == nullptr) return;
  scope_->cancel(backoff_timer_);
  scope_->cancel(leftover_timer_);
}

void SchedulingQueue::run(Scope& scope) {
  BERTH_CHECK(scope_ == nullptr, "the queue runs already");
  scope_ = &scope;
  started_ = clock_.now();
  arm_backoff();
  arm_leftover();
}

void SchedulingQueue::close() {
  closed_ = true;
  in_flight_.done_all();
  if (scope_ == nullptr) return;
  scope_->cancel(backoff_timer_);
  scope_->cancel(leftover_timer_);
  backoff_timer_ = leftover_timer_ = TimerId::kNone;
  scope_ = nullptr;  // it may be gone before the queue is
}

// At the end of what others call.
void SchedulingQueue::announce() {
  arm_backoff();
  arm_leftover();
  if (std::exchange(ready_, false) && on_ready_) on_ready_();
}

void SchedulingQueue::arm_backoff() {
  if (scope_ == nullptr || closed_ || backoff_timer_ != TimerId::kNone || backoff_.size() == 0)
    return;
  const Instant now = clock_.now();
  backoff_timer_ = scope_->after(backoff_.next_tick(now) - now, [this] {
    backoff_timer_ = TimerId::kNone;
    flush_backoff_completed();
  });
}

void SchedulingQueue::arm_leftover() {
  if (scope_ == nullptr || closed_ || leftover_timer_ != TimerId::kNone || pool_.size() == 0)
    return;
  const Duration into = (clock_.now() - started_) % kLeftoverPeriod;
  leftover_timer_ = scope_->after(
      kLeftoverPeriod - into,
      [this] {
        leftover_timer_ = TimerId::kNone;
        flush_unschedulable_leftover();
      },
      Timer::kBackground);
}

QueuedPod* SchedulingQueue::lookup(std::string_view ns, std::string_view name) const {
  key_.assign(ns).append(1, '/').append(name);
  const auto found = pods_.find(std::string_view(key_));
  return found == pods_.end() ? nullptr : found->second.get();
}

const QueuedPod* SchedulingQueue::find(std::string_view ns, std::string_view name) const {
  return lookup(ns, name);
}

QueuedPodPtr SchedulingQueue::release(QueuedPod& queued) {
  key_.assign(queued.pod->ns).append(1, '/').append(queued.pod->name);
  const auto found = pods_.find(std::string_view(key_));
  QueuedPodPtr owned = std::move(found->second);
  pods_.erase(found);
  return owned;
}

void SchedulingQueue::add(const PodPtr& pod) {
  enqueue_new(pod, label_add_);
  announce();
}

// What is already queued under the name is replaced, except by a gated pod.
void SchedulingQueue::enqueue_new(const PodPtr& pod, std::string_view event) {
  QueuedPod fresh{.pod = pod, .timestamp = clock_.now()};
  run_pre_enqueue(fresh);
  QueuedPod* queued = lookup(pod->ns, pod->name);
  if (queued == nullptr) {
    queued = pods_.emplace(key_, std::make_unique<QueuedPod>(std::move(fresh))).first->second.get();
  } else {
    if (fresh.gated() && queued->place != Place::kUnschedulable) return;
    // The queue's own part stays: it says where in line the name stands.
    fresh.place = queued->place;
    fresh.heap_index = queued->heap_index;
    fresh.group = queued->group;
    fresh.group_index = queued->group_index;
    fresh.pool_number = queued->pool_number;
    fresh.counted_gated = queued->counted_gated;
    *queued = std::move(fresh);
  }
  settle_active(*queued, event);
}

void SchedulingQueue::update(const PodPtr& before, const PodPtr& after) {
  const std::vector<ClusterEvent> events = events_of_update(*before, *after);
  if (in_flight_.has(after->uid)) {
    // It comes back, if it does, in its newest version, and hears of this then.
    for (const ClusterEvent& event : events)
      in_flight_.record(table_.kind(event),
                        {.event = event, .pod_before = before, .pod_after = after});
    return;
  }
  QueuedPod* queued = lookup(after->ns, after->name);
  if (queued == nullptr) {
    enqueue_new(after, label_update_);
  } else if (queued->place == Place::kUnschedulable) {
    update_in_pool(*queued, before, after, events);
  } else {
    queued->pod = after;
    if (queued->place == Place::kActive)
      active_.fix(*queued);
    else
      backoff_.fix(*queued);
    nominator_.update(*before, *after);
  }
  announce();
}

void SchedulingQueue::update_in_pool(QueuedPod& queued, const PodPtr& before, const PodPtr& after,
                                     const std::vector<ClusterEvent>& events) {
  queued.pod = after;
  pool_.refresh(queued);
  nominator_.update(*before, *after);
  for (const ClusterEvent& event : events) {
    const RequeueTable::Kind& kind = table_.kind(event);
    const Strategy strategy =
        decide(queued, kind, {.event = event, .pod_before = before, .pod_after = after});
    if (strategy == Strategy::kSkip) continue;
    requeue(queued, strategy, kind.label);
    if (queued.place == Place::kActive ||
        (queued.place != Place::kUnschedulable && options_.pop_from_backoff))
      break;
  }
}

void SchedulingQueue::remove(const Pod& pod) {
  nominator_.remove(pod);
  QueuedPod* queued = lookup(pod.ns, pod.name);
  if (queued == nullptr) return;
  const Place from = queued->place;
  if (from == Place::kUnschedulable) {
    queued->rejectors().for_each([&](PluginId plugin) {
      observer_.unschedulable(plugin, queued->pod->spec->scheduler_name, -1);
    });
  }
  leave(*queued);
  const QueuedPodPtr gone = release(*queued);
  observer_.moved(*gone, from, Place::kNowhere, "PodDelete");
}

bool SchedulingQueue::to_in_flight(QueuedPod& queued) {
  ++queued.attempts;
  if (!in_flight_.start(queued.pod)) return false;
  queued.place = Place::kInFlight;
  queued.rejectors().for_each([&](PluginId plugin) {
    observer_.unschedulable(plugin, queued.pod->spec->scheduler_name, -1);
  });
  return true;
}

QueuedPodPtr SchedulingQueue::pop() {
  while (!closed_) {
    Place from = Place::kActive;
    QueuedPod* queued = nullptr;
    if (!active_.empty()) {
      queued = active_.top();
      leave(*queued);
    } else if (options_.pop_from_backoff && backoff_.has_early()) {
      from = Place::kBackoff;
      queued = backoff_.pop_early();
      observer_.pending(QueueName::kBackoff, -1);
      observer_.incoming(QueueName::kActive, "PopFromBackoffQ");
    } else {
      break;
    }
    QueuedPodPtr popped = release(*queued);
    if (to_in_flight(*popped)) {
      observer_.moved(*popped, from, Place::kInFlight,
                      from == Place::kActive ? "Pop" : "PopFromBackoffQ");
      return popped;
    }
    // An earlier attempt of the same pod is still under way.
    observer_.moved(*popped, from, Place::kNowhere, "Duplicate");
  }
  return nullptr;
}

QueuedPodPtr SchedulingQueue::pop_specific(const Pod& pod) {
  if (closed_) return nullptr;
  activate_one(pod);
  ready_ = false;  // it is taken at once
  QueuedPodPtr popped;
  QueuedPod* queued = lookup(pod.ns, pod.name);
  if (queued != nullptr && queued->place == Place::kActive) {
    leave(*queued);
    popped = release(*queued);
    if (to_in_flight(*popped)) {
      observer_.moved(*popped, Place::kActive, Place::kInFlight, "Pop");
    } else {
      observer_.moved(*popped, Place::kActive, Place::kNowhere, "Duplicate");
      popped = nullptr;
    }
  }
  announce();
  return popped;
}

Result<Ok> SchedulingQueue::add_unschedulable_if_not_present(QueuedPodPtr returned,
                                                             Rejectors rejectors) {
  QueuedPod& queued = *returned;
  const PodPtr pod = queued.pod;
  queued.unschedulable_plugins = rejectors.unschedulable;
  queued.pending_plugins = rejectors.pending;
  queued.gating_plugin = PluginId::kNone;
  queued.gating_events = {};
  if (const QueuedPod* present = lookup(pod->ns, pod->name)) {
    in_flight_.done(pod->uid);
    const std::string_view where = present->place == Place::kUnschedulable ? "unschedulable"
                                   : present->place == Place::kActive      ? "active"
                                                                           : "backoff";
    return fail(Reason::kAlreadyExists,
                fmt::format("Pod {} is already present in the {} queue", pod->text(), where));
  }
  queued.last_place = std::exchange(queued.place, Place::kNowhere);
  pods_.emplace(key_, std::move(returned));

  if (queued.rejectors().empty()) {
    ++queued.consecutive_errors_count;
  } else {
    ++queued.unschedulable_count;
    queued.consecutive_errors_count = 0;
  }
  queued.timestamp = clock_.now();
  queued.backoff_expiration = std::nullopt;
  queued.was_flushed = false;
  queued.flush_timestamp = std::nullopt;
  queued.rejectors().for_each(
      [&](PluginId plugin) { observer_.unschedulable(plugin, pod->spec->scheduler_name, 1); });
  requeue(queued, replay(queued), "ScheduleAttemptFailure");
  in_flight_.done(pod->uid);
  announce();
  return Ok{};
}

bool SchedulingQueue::activate_one(const Pod& pod) {
  QueuedPod* queued = lookup(pod.ns, pod.name);
  if (queued == nullptr || queued->place == Place::kActive) return false;
  return move_to_active(*queued, kForceActivate.custom_label,
                        queued->place != Place::kUnschedulable);
}

void SchedulingQueue::activate(std::span<const PodPtr> pods) {
  for (const PodPtr& pod : pods) {
    if (activate_one(*pod) || !in_flight_.has(pod->uid)) continue;
    in_flight_.record(table_.kind(kForceActivate), {.event = kForceActivate, .pod_after = pod});
  }
  announce();
}

void SchedulingQueue::move_all(const Change& change, const PreCheck& pre_check) {
  const RequeueTable::Kind& kind = table_.kind(change.event);
  if (!kind.of_interest) return;
  const QueuedPod* subject = nullptr;
  if (const Pod* pod = change.pod()) subject = lookup(pod->ns, pod->name);
  if (subject != nullptr && subject->place != Place::kUnschedulable) subject = nullptr;
  const auto woken = pool_.woken_by(kind, subject, pre_check, [&](const QueuedPod& queued) {
    return decide(queued, kind, change);
  });
  move(woken, kind, change);
  announce();
}

void SchedulingQueue::flush_backoff_completed() {
  for (QueuedPod* queued : backoff_.pop_completed()) {
    observer_.pending(QueueName::kBackoff, -1);
    move_to_active(*queued, "BackoffComplete", true);
  }
  announce();
}

void SchedulingQueue::flush_unschedulable_leftover() {
  const Instant now = clock_.now();
  const RequeueTable::Kind& kind = table_.kind(kUnschedulableTimeout);
  const Change change{.event = kUnschedulableTimeout};
  std::vector<UnschedulablePool::Woken> woken;
  // Each of them leaves the pool, if only to be gated again.
  for (QueuedPod* queued : pool_.overdue(now, options_.max_in_unschedulable)) {
    queued->was_flushed = true;
    queued->flush_timestamp = now;
    woken.push_back({queued, Strategy::kAfterBackoff});
  }
  if (!woken.empty()) move(woken, kind, change);
  announce();
}

std::vector<PodPtr> SchedulingQueue::active_pods() const {
  std::vector<PodPtr> pods;
  append_pods(active_.items(), pods);
  return pods;
}

std::vector<PodPtr> SchedulingQueue::backoff_pods() const {
  std::vector<PodPtr> pods;
  append_pods(backoff_.refused(), pods);
  append_pods(backoff_.failed(), pods);
  return pods;
}

std::vector<PodPtr> SchedulingQueue::unschedulable_pods() const {
  std::vector<PodPtr> pods;
  append_pods(pool_.all(), pods);
  return pods;
}

std::string SchedulingQueue::summary() const {
  return fmt::format("activeQ:{}; backoffQ:{}; unschedulablePods:{}", active_.size(),
                     backoff_.size(), pool_.size());
}

}  // namespace berth::scheduler
