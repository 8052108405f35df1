// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/backoff_queue.h"

#include <utility>

#include "scheduler/queue/planted_fault.h"

namespace berth::scheduler {
namespace {

constexpr Instant kLongAgo{Duration::min()};

Instant floor_to(Instant at, Duration phase, Duration step) {
  Duration rest = (at.since_start - phase) % step;
  if (rest < Duration{}) rest += step;
  return Instant{at.since_start - rest};
}

}  // namespace

bool BackoffQueue::Less::operator()(QueuedPod& a, QueuedPod& b) const {
  const Instant at_a = queue->expiration(a);
  const Instant at_b = queue->expiration(b);
  if (at_a != at_b || !with_sort) return at_a < at_b;
  return queue->active_less_(a, b);
}

// k8s 1.36 aligns to whole seconds of the wall clock. Here that is fixed once: a clock that is set
// afterwards neither holds pods back nor lets them go.
BackoffQueue::BackoffQueue(const Clock& clock, const QueueOptions& options, const QueueSort& sort)
    : clock_(clock),
      options_(options),
      active_less_{&sort},
      started_(clock.now()),
      phase_((started_.since_start - Duration(clock.wall().unix_nanos)) % kWindow),
      refused_(Less{this, options.pop_from_backoff}),
      failed_(Less{this, false}) {}

Instant BackoffQueue::window_of(Instant at) const {
  return options_.pop_from_backoff ? floor_to(at, phase_, kWindow) : at;
}

Instant BackoffQueue::next_tick(Instant now) const {
  const Duration phase = options_.pop_from_backoff ? phase_ : started_.since_start % kWindow;
  return floor_to(now, phase, kWindow) + kWindow;
}

Duration BackoffQueue::duration(int count) const {
  if (count == 0) return Duration{};
  const int shift = count - 1;
  const Duration::rep most = shift > 62 ? 0 : options_.max_backoff.count() >> shift;
  if (options_.initial_backoff.count() > most) return options_.max_backoff;
  return Duration(shift > 62 ? 0 : options_.initial_backoff.count() << shift);
}

Instant BackoffQueue::expiration(QueuedPod& queued) const {
  const int count = queued.consecutive_errors_count > 0 ? queued.consecutive_errors_count
                                                        : queued.unschedulable_count;
  if (options_.max_backoff == Duration{} || count == 0) return kLongAgo;
  if (!queued.backoff_expiration)
    queued.backoff_expiration =
        window_of(queued.timestamp + duration(count + (planted(Fault::kBackoffCount) ? 1 : 0)));
  return *queued.backoff_expiration;
}

bool BackoffQueue::backing_off(QueuedPod& queued) const {
  if (planted(Fault::kBackoffEquality)) return expiration(queued) > window_of(clock_.now());
  return !(expiration(queued) < window_of(clock_.now()));
}

void BackoffQueue::add(QueuedPod& queued) {
  if (queued.place == Place::kBackoff || queued.place == Place::kErrorBackoff) return fix(queued);
  const bool refused = !queued.rejectors().empty() && !planted(Fault::kErrorHeap);
  queued.place = refused ? Place::kBackoff : Place::kErrorBackoff;
  (refused ? refused_ : failed_).push(queued);
}

void BackoffQueue::fix(QueuedPod& queued) {
  (queued.place == Place::kBackoff ? refused_ : failed_).fix(queued);
}

void BackoffQueue::remove(QueuedPod& queued) {
  (queued.place == Place::kBackoff ? refused_ : failed_).remove(queued);
  queued.last_place = std::exchange(queued.place, Place::kNowhere);
}

QueuedPod* BackoffQueue::pop_early() {
  if (refused_.empty()) return nullptr;
  QueuedPod* queued = refused_.pop();
  queued->last_place = std::exchange(queued->place, Place::kNowhere);
  return queued;
}

void BackoffQueue::pop_completed(Heap& heap, std::vector<QueuedPod*>& done) {
  while (!heap.empty() && !backing_off(*heap.top())) {
    QueuedPod& queued = *heap.pop();
    queued.last_place = std::exchange(queued.place, Place::kNowhere);
    done.push_back(&queued);
  }
}

std::vector<QueuedPod*> BackoffQueue::pop_completed() {
  std::vector<QueuedPod*> done;
  pop_completed(refused_, done);
  pop_completed(failed_, done);
  return done;
}

}  // namespace berth::scheduler
