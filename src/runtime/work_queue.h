// SPDX-License-Identifier: Apache-2.0
// Which keys are to be looked at, and when. A key is idle, queued, running, or running and dirty:
// it never runs twice at a time, and whatever happens while it runs becomes one more run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "base/metrics.h"
#include "base/random.h"
#include "base/scope.h"
#include "kube/object.h"

namespace berth::runtime {

using kube::Key;

// client-go's workqueue metrics, by the queue's name.
class QueueMetrics {
 public:
  QueueMetrics(Metrics&, std::string_view queue);
  const Gauge depth;
  const Counter adds;
  const Histogram waited, worked;
  const Gauge unfinished, longest;
  const Counter retries;
};

struct RetryDelays {
  Duration first = 5ms, most = 5min;  // doubling; each drawn between half of itself and itself
};

// Loop-confined to its scope's executor; outlives that scope.
class WorkQueue {
 public:
  // `ready` runs, never inline, when a key can be taken where none could before.
  WorkQueue(Scope& scope, Random random, Metrics& metrics, std::string_view name, Task ready,
            RetryDelays delays = {});

  // With `batched`, after that time; more of them do not put it off, a run before makes it
  // needless.
  void add(const Key&, int priority = 0, Duration batched = {});
  std::optional<Key> take();  // runs from now on; its timer is forgotten
  // The run is over; it is queued again if something happened meanwhile, or happens from now on,
  // after a rest.
  void finish(const Key&, Duration rest = {});
  // Of a running key. One timer a key: the last word counts.
  void again_in(const Key&, Duration);
  // Of a running key whose run failed. `at_once` spares the delay the first time.
  void retry(const Key&, bool at_once = false);
  void succeeded(const Key&);  // of a running key: the next failure is the first again
  // The work itself is done and only its effects are awaited: it does not count as running work.
  void resting(const Key&);

  std::size_t size() const { return order_.size(); }
  bool idle() const { return items_.empty(); }  // nothing queued, running or timed
  unsigned failures(const Key&) const;

 private:
  enum class State : std::uint8_t { kIdle, kQueued, kRunning, kDirty };
  struct Item {
    State state = State::kIdle;
    int priority = 0;
    std::uint64_t turn = 0;
    Instant since{};  // queued or running
    bool resting = false;
    unsigned failures = 0;
    TimerId timer = TimerId::kNone;
    TimerId batch = TimerId::kNone;
    TimerId rest = TimerId::kNone;  // while it runs, the key is not queued
    bool woken = false;             // and something happened
  };
  using Items = std::map<Key, Item>;
  struct Before {  // the higher priority, then the earlier
    bool operator()(const Items::iterator& a, const Items::iterator& b) const {
      return std::tuple(-a->second.priority, a->second.turn) <
             std::tuple(-b->second.priority, b->second.turn);
    }
  };

  Items::iterator running(const Key&);
  void enqueue(Items::iterator);
  void wake_in(Items::iterator, Duration);
  void rested(Items::iterator);
  void drop_if_idle(Items::iterator);
  void worked(Items::iterator);
  void watch_long_runs();
  Instant now() const { return scope_.executor().clock().now(); }

  Scope& scope_;
  Random random_;
  QueueMetrics metrics_;
  Task ready_;
  RetryDelays delays_;
  Items items_;
  std::set<Items::iterator, Before> order_;
  std::set<const Key*> busy_;
  std::uint64_t turns_ = 0;
  bool told_ = false;     // `ready` is on its way
  bool looking_ = false;  // the gauges of long runs are kept up to date
};

}  // namespace berth::runtime
