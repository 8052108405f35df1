// SPDX-License-Identifier: Apache-2.0
#include "gateway/ring.h"

#include <algorithm>

namespace berth::gateway {

std::string_view name_of(ObjectChange::Action action) {
  switch (action) {
    case ObjectChange::Action::kAdded:
      return "ADDED";
    case ObjectChange::Action::kModified:
      return "MODIFIED";
    case ObjectChange::Action::kDeleted:
      break;
  }
  return "DELETED";
}

void ChangeRing::begin(Topic topic, kube::Revision floor) {
  now_.of(topic) = floor_.of(topic) = floor;
}

void ChangeRing::push(Topic topic, ObjectChange::Action action, kube::Object object) {
  // After a gap objects come by name, and a deletion that was missed has no revision of its own;
  // gap() follows, so that nobody resumes among them.
  now_.of(topic) = std::max(now_.of(topic), object.revision());
  bytes_ += object.bytes();
  const kube::Revision seq = object.revision();
  all_.push_back({topic, action, seq, std::move(object), end(), now_});
  while (all_.size() > limits_.changes || (bytes_ > limits_.bytes && all_.size() > 1)) {
    const ObjectChange& oldest = all_.front();
    floor_.of(oldest.topic) = std::max(floor_.of(oldest.topic), oldest.seq);
    bytes_ -= oldest.object.bytes();
    all_.pop_front();
    ++first_;
  }
}

void ChangeRing::advance(Topic topic, kube::Revision seen) {
  now_.of(topic) = std::max(now_.of(topic), seen);
}

void ChangeRing::gap(Topic topic, kube::Revision seen) {
  advance(topic, seen);
  floor_.of(topic) = now_.of(topic) + 1;
}

std::optional<std::uint64_t> ChangeRing::resume(const Cursor& cursor) const {
  for (const Topic topic : kTopics)
    if (cursor.of(topic) < floor_.of(topic) || cursor.of(topic) > now_.of(topic))
      return std::nullopt;
  // Everything before the first change that it has not seen can be passed over at once.
  const auto unseen = std::find_if(all_.begin(), all_.end(), [&](const ObjectChange& change) {
    return change.seq > cursor.of(change.topic);
  });
  return first_ + static_cast<std::uint64_t>(unseen - all_.begin());
}

}  // namespace berth::gateway
