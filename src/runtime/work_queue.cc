// SPDX-License-Identifier: Apache-2.0
#include "runtime/work_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::runtime {
namespace {

constexpr Duration kLook = 500ms;  // k8s 1.36: how often the gauges of long runs are refreshed

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
std::vector<double> buckets() { return exponential_buckets(10e-9, 10, 10); }

}  // namespace

QueueMetrics::QueueMetrics(Metrics& m, std::string_view queue)
    : depth(m.gauges("workqueue_depth", "Current depth of workqueue", {"name"}).with({queue})),
      adds(m.counters("workqueue_adds_total", "Total number of adds handled by workqueue", {"name"})
               .with({queue})),
      waited(m.histograms("workqueue_queue_duration_seconds",
                          "How long in seconds an item stays in workqueue before being requested.",
                          {"name"}, buckets())
                 .with({queue})),
      worked(m.histograms("workqueue_work_duration_seconds",
                          "How long in seconds processing an item from workqueue takes.", {"name"},
                          buckets())
                 .with({queue})),
      unfinished(m.gauges("workqueue_unfinished_work_seconds",
                          "Seconds of work that is in progress and not yet observed by "
                          "work_duration. Large values mean that something is stuck.",
                          {"name"})
                     .with({queue})),
      longest(m.gauges("workqueue_longest_running_processor_seconds",
                       "How many seconds the longest running work has been running.", {"name"})
                  .with({queue})),
      retries(m.counters("workqueue_retries_total", "Total number of retries handled by workqueue",
                         {"name"})
                  .with({queue})) {}

WorkQueue::WorkQueue(Scope& scope, Random random, Metrics& metrics, std::string_view name,
                     Task ready, RetryDelays delays)
    : scope_(scope),
      random_(random),
      metrics_(metrics, name),
      ready_(std::move(ready)),
      delays_(delays) {}

void WorkQueue::add(const Key& key, int priority, Duration batched) {
  const Items::iterator at = items_.try_emplace(key).first;
  Item& item = at->second;
  if (batched > Duration{}) {
    if (item.batch != TimerId::kNone || item.state == State::kQueued) return;
    item.batch = scope_.after(batched, [this, at, priority] {
      at->second.batch = TimerId::kNone;
      add(at->first, priority);
    });
    return;
  }
  switch (item.state) {
    case State::kIdle:
      item.priority = item.woken ? std::max(item.priority, priority) : priority;
      if (item.rest == TimerId::kNone) return enqueue(at);
      if (!std::exchange(item.woken, true)) metrics_.adds.add();
      return;
    case State::kQueued:
      if (priority > item.priority) {
        order_.erase(at);
        item.priority = priority;
        order_.insert(at);
      }
      return;
    case State::kRunning:
      item.state = State::kDirty;
      item.priority = priority;
      metrics_.adds.add();
      return;
    case State::kDirty:
      item.priority = std::max(item.priority, priority);
  }
}

void WorkQueue::enqueue(Items::iterator at) {
  if (at->second.state != State::kDirty) metrics_.adds.add();
  at->second.state = State::kQueued;
  at->second.turn = ++turns_;
  at->second.since = now();
  order_.insert(at);
  metrics_.depth.set(static_cast<double>(order_.size()));
  if (std::exchange(told_, true)) return;
  scope_.post([this] {
    told_ = false;
    ready_();
  });
}

std::optional<Key> WorkQueue::take() {
  if (order_.empty()) return std::nullopt;
  const Items::iterator at = *order_.begin();
  order_.erase(order_.begin());
  Item& item = at->second;
  scope_.cancel(std::exchange(item.timer, TimerId::kNone));
  scope_.cancel(std::exchange(item.batch, TimerId::kNone));
  metrics_.depth.set(static_cast<double>(order_.size()));
  metrics_.waited.observe(seconds(now() - item.since));
  item.state = State::kRunning;
  item.since = now();
  item.resting = false;
  busy_.insert(&at->first);
  watch_long_runs();
  return at->first;
}

WorkQueue::Items::iterator WorkQueue::running(const Key& key) {
  const Items::iterator at = items_.find(key);
  BERTH_CHECK(at != items_.end() &&
                  (at->second.state == State::kRunning || at->second.state == State::kDirty),
              "the key does not run");
  return at;
}

void WorkQueue::worked(Items::iterator at) {
  if (std::exchange(at->second.resting, true)) return;
  busy_.erase(&at->first);
  metrics_.worked.observe(seconds(now() - at->second.since));
}

void WorkQueue::resting(const Key& key) { worked(running(key)); }

void WorkQueue::finish(const Key& key, Duration rest) {
  const Items::iterator at = running(key);
  worked(at);
  const bool dirty = at->second.state == State::kDirty;
  if (dirty && rest <= Duration{}) return enqueue(at);
  at->second.state = State::kIdle;
  if (rest <= Duration{}) return drop_if_idle(at);
  at->second.woken = dirty;
  at->second.rest = scope_.after(rest, [this, at] { rested(at); });
}

void WorkQueue::rested(Items::iterator at) {
  at->second.rest = TimerId::kNone;
  if (!std::exchange(at->second.woken, false)) return drop_if_idle(at);
  at->second.state = State::kDirty;
  enqueue(at);
}

void WorkQueue::again_in(const Key& key, Duration wait) { wake_in(running(key), wait); }

void WorkQueue::retry(const Key& key, bool at_once) {
  const Items::iterator at = running(key);
  Item& item = at->second;
  ++item.failures;
  metrics_.retries.add();
  if (at_once && item.failures == 1) return add(key, item.priority);
  Duration wait = delays_.first;
  for (unsigned i = 1; i < item.failures && wait < delays_.most; ++i) wait *= 2;
  wait = std::min(wait, delays_.most);
  const double half = static_cast<double>(wait.count()) / 2;
  wake_in(at, Duration(static_cast<Duration::rep>(half + half * random_.unit())));
}

void WorkQueue::succeeded(const Key& key) { running(key)->second.failures = 0; }

unsigned WorkQueue::failures(const Key& key) const {
  const auto found = items_.find(key);
  return found == items_.end() ? 0 : found->second.failures;
}

void WorkQueue::wake_in(Items::iterator at, Duration wait) {
  Item& item = at->second;
  scope_.cancel(item.timer);
  item.timer = scope_.after(std::max(wait, Duration{}), [this, at] {
    at->second.timer = TimerId::kNone;
    add(at->first, at->second.priority);
  });
}

void WorkQueue::drop_if_idle(Items::iterator at) {
  const Item& item = at->second;
  if (item.state == State::kIdle && item.timer == TimerId::kNone && item.batch == TimerId::kNone &&
      item.rest == TimerId::kNone && item.failures == 0)
    items_.erase(at);
}

void WorkQueue::watch_long_runs() {
  if (std::exchange(looking_, true)) return;
  scope_.after(
      kLook,
      [this] {
        looking_ = false;
        Duration sum{}, most{};
        for (const Key* key : busy_) {
          const Duration run = now() - items_.find(*key)->second.since;
          sum += run;
          most = std::max(most, run);
        }
        metrics_.unfinished.set(seconds(sum));
        metrics_.longest.set(seconds(most));
        if (!busy_.empty()) watch_long_runs();
      },
      Timer::kBackground);
}

}  // namespace berth::runtime
