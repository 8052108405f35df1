// SPDX-License-Identifier: Apache-2.0
// The latest changes, in the order they were seen. Listeners are positions in it, not queues.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "gateway/topics.h"

namespace berth::gateway {

struct ObjectChange {
  enum class Action : unsigned char { kAdded, kModified, kDeleted };
  Topic topic = Topic::kTestbeds;
  Action action = Action::kAdded;
  kube::Revision seq = 0;
  kube::Object object = {};
  std::uint64_t place = 0;  // counted from the beginning of this process
  Cursor cursor = {};       // where somebody stands who has seen it
};
std::string_view name_of(ObjectChange::Action);  // "ADDED"

struct RingLimits {
  std::size_t changes = 64 << 10;
  std::size_t bytes = std::size_t{32} << 20;
};

// Thread-compatible.
class ChangeRing {
 public:
  explicit ChangeRing(RingLimits limits = {}) : limits_(limits) {}

  // `floor`: everything up to there is in the first snapshot, or lost in a gap.
  void begin(Topic topic, kube::Revision floor);
  void push(Topic, ObjectChange::Action, kube::Object);
  // The server has told that there is nothing else up to here.
  void advance(Topic, kube::Revision seen);
  // What happened in between is not known: nobody can go on from before.
  void gap(Topic, kube::Revision seen);

  std::uint64_t first() const { return first_; }              // oldest place that is there
  std::uint64_t end() const { return first_ + all_.size(); }  // one past the newest
  const ObjectChange& at(std::uint64_t place) const { return all_[place - first_]; }
  const Cursor& now() const { return now_; }

  // Where somebody goes on who has seen that much; nothing: there is a gap before what we have, or
  // the cursor is of another server's life.
  std::optional<std::uint64_t> resume(const Cursor&) const;

 private:
  RingLimits limits_;
  std::deque<ObjectChange> all_;
  std::uint64_t first_ = 0;
  std::size_t bytes_ = 0;
  Cursor now_, floor_;
};

}  // namespace berth::gateway
