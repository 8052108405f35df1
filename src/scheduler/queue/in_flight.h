// SPDX-License-Identifier: Apache-2.0
// Pods that were popped and are not done, and what happened since the oldest of them was popped:
// a pod that fails is asked about everything it has missed.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <list>
#include <string_view>
#include <vector>

#include "scheduler/queue/nominator.h"
#include "scheduler/queue/queue_observer.h"
#include "scheduler/queue/requeue_table.h"

namespace berth::scheduler {

// Loop-confined.
class InFlight {
 public:
  struct Event {
    const RequeueTable::Kind* kind = nullptr;
    Change change;
  };
  static constexpr std::string_view kPodPopped = "PodPopped";

  explicit InFlight(QueueObserver& observer) : observer_(observer) {}

  bool empty() const { return pods_.empty(); }
  bool has(std::string_view uid) const { return by_uid_.contains(uid); }
  bool start(const PodPtr&);  // false: it is in flight already
  // The pod needs nothing any more; does nothing for one that is not in flight.
  void done(std::string_view uid);
  void done_all();
  // Kept only while some pod is in flight.
  void record(const RequeueTable::Kind&, const Change&);

  // Calls f(event) in order for what happened since the pod was popped, until f says false. False:
  // the pod is not in flight.
  template <class F>
  bool replay(std::string_view uid, F&& f) const {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return false;
    for (auto i = static_cast<std::size_t>(found->second->first - dropped_); i < events_.size();
         ++i)
      if (!f(events_[i])) break;
    return true;
  }

  std::vector<PodPtr> pods() const;  // oldest first
  std::size_t events() const { return events_.size(); }

 private:
  struct Marker {
    PodPtr pod;
    std::uint64_t first = 0;  // number of the first event after it was popped
  };
  void trim();

  QueueObserver& observer_;
  std::list<Marker> pods_;  // in order of popping, hence of `first`
  ByText<std::list<Marker>::iterator> by_uid_;
  std::deque<Event> events_;
  std::uint64_t dropped_ = 0;  // number of events_.front()
};

}  // namespace berth::scheduler
