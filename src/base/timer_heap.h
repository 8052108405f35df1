// SPDX-License-Identifier: Apache-2.0
// Pending timers in the order of (time, arming): a 4-ary heap over slots, so that cancelling is as
// cheap as firing and ids of timers that are gone are never mistaken for new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/executor.h"
#include "base/time.h"

namespace berth {

// Thread-compatible.
template <class T>
class TimerHeap {
 public:
  TimerId arm(Instant when, T what) {
    const std::uint32_t slot = free_slot();
    slots_[slot].what.emplace(std::move(what));
    insert(when, slot);
    return id_of(slot);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Instant next() const { return heap_.front().when; }  // not when empty

  // Takes the earliest out of the order. It stays known by its id, and can be taken, until it is.
  TimerId pop() {
    const std::uint32_t slot = heap_.front().slot;
    remove(0);
    return id_of(slot);
  }
  // Puts a popped timer back.
  void rearm(TimerId id, Instant when) {
    const std::uint32_t slot = slot_of(id);
    BERTH_CHECK(slots_[slot].position == kOut);
    insert(when, slot);
  }

  T* find(TimerId id) {
    const std::uint32_t slot = slot_of(id);
    const bool known = slot < slots_.size() && id_of(slot) == id && slots_[slot].what.has_value();
    return known ? &*slots_[slot].what : nullptr;
  }
  // Removes a timer, popped or not; nothing when it is gone already.
  std::optional<T> take(TimerId id) {
    if (find(id) == nullptr) return std::nullopt;
    const std::uint32_t slot = slot_of(id);
    if (slots_[slot].position != kOut) remove(slots_[slot].position);
    std::optional<T> what = std::move(slots_[slot].what);
    slots_[slot].what.reset();
    ++slots_[slot].generation;
    free_.push_back(slot);
    return what;
  }

  // The ids of all timers, popped or not, for which `wanted(const T&)` holds.
  template <class Wanted>
  std::vector<TimerId> ids_where(Wanted wanted) const {
    std::vector<TimerId> ids;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot].what && wanted(*slots_[slot].what)) ids.push_back(id_of(slot));
    return ids;
  }

 private:
  static constexpr std::uint32_t kOut = UINT32_MAX;
  static constexpr std::size_t kArity = 4;
  struct Entry {
    Instant when;
    std::uint64_t sequence;
    std::uint32_t slot;
    bool before(const Entry& other) const {
      return when != other.when ? when < other.when : sequence < other.sequence;
    }
  };
  struct Slot {
    std::optional<T> what;
    std::uint32_t generation = 1;  // so that no id is TimerId::kNone
    std::uint32_t position = kOut;
  };

  TimerId id_of(std::uint32_t slot) const {
    return static_cast<TimerId>(std::uint64_t{slots_[slot].generation} << 32 | slot);
  }
  static std::uint32_t slot_of(TimerId id) { return static_cast<std::uint32_t>(id); }

  std::uint32_t free_slot() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void insert(Instant when, std::uint32_t slot) {
    heap_.emplace_back();
    rise(heap_.size() - 1, Entry{when, sequence_++, slot});
  }
  void remove(std::size_t at) {
    slots_[heap_[at].slot].position = kOut;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (at > 0 && last.before(heap_[(at - 1) / kArity]))
      rise(at, last);
    else
      sink(at, last);
  }
  void rise(std::size_t hole, const Entry& entry) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (!entry.before(heap_[parent])) break;
      put(hole, heap_[parent]);
      hole = parent;
    }
    put(hole, entry);
  }
  void sink(std::size_t hole, const Entry& entry) {
    for (;;) {
      const std::size_t first = hole * kArity + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = first + kArity < heap_.size() ? first + kArity : heap_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (heap_[child].before(heap_[least])) least = child;
      if (!heap_[least].before(entry)) break;
      put(hole, heap_[least]);
      hole = least;
    }
    put(hole, entry);
  }
  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    slots_[entry.slot].position = static_cast<std::uint32_t>(at);
  }

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t sequence_ = 0;
};

}  // namespace berth
