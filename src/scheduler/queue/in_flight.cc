// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/in_flight.h"

#include <utility>

#include "scheduler/queue/planted_fault.h"

namespace berth::scheduler {

bool InFlight::start(const PodPtr& pod) {
  if (has(pod->uid)) return false;
  pods_.push_back({pod, dropped_ + events_.size()});
  by_uid_.emplace(pod->uid, std::prev(pods_.end()));
  observer_.in_flight_events(kPodPopped, 1);
  return true;
}

void InFlight::record(const RequeueTable::Kind& kind, const Change& change) {
  if (empty()) return;
  observer_.in_flight_events(kind.label, 1);
  events_.push_back({&kind, change});
}

void InFlight::done(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return;
  pods_.erase(found->second);
  by_uid_.erase(found);
  trim();
  observer_.in_flight_events(kPodPopped, -1);
}

void InFlight::trim() {
  std::uint64_t needed = dropped_ + events_.size();
  if (!pods_.empty())
    needed = planted(Fault::kTrimTooMuch) ? pods_.back().first : pods_.front().first;
  std::vector<std::pair<const RequeueTable::Kind*, int>> gone;
  for (; dropped_ < needed; ++dropped_) {
    const RequeueTable::Kind* kind = events_.front().kind;
    events_.pop_front();
    auto same = gone.begin();
    while (same != gone.end() && same->first != kind) ++same;
    if (same == gone.end()) same = gone.insert(same, {kind, 0});
    --same->second;
  }
  for (const auto& [kind, count] : gone) observer_.in_flight_events(kind->label, count);
  if (planted(Fault::kTrimTooMuch))
    for (Marker& marker : pods_) marker.first = std::max(marker.first, dropped_);
}

void InFlight::done_all() {
  while (!pods_.empty()) done(std::string(pods_.front().pod->uid));
}

std::vector<PodPtr> InFlight::pods() const {
  std::vector<PodPtr> pods;
  for (const Marker& marker : pods_) pods.push_back(marker.pod);
  return pods;
}

}  // namespace berth::scheduler
