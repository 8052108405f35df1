// SPDX-License-Identifier: Apache-2.0
// Answers of the API server that may be used again for a few seconds.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace berth::scheduler {

// Thread-compatible. Holds `most` entries at most; the oldest go first.
template <class Value>
class ExpiringCache {
 public:
  explicit ExpiringCache(std::size_t most) : most_(most) {}

  const Value* find(const std::string& key, Instant now) const {
    const auto found = entries_.find(key);
    return found == entries_.end() || found->second.until <= now ? nullptr : &found->second.value;
  }
  void put(const std::string& key, Value value, Instant now, Duration ttl) {
    if (ttl <= Duration{}) return;
    const std::uint64_t turn = ++last_turn_;
    entries_.insert_or_assign(key, Entry{std::move(value), now + ttl, turn});
    order_.emplace_back(key, turn);
    while (!order_.empty()) {
      const auto oldest = entries_.find(order_.front().first);
      const bool replaced =
          oldest == entries_.end() || oldest->second.turn != order_.front().second;
      if (!replaced && entries_.size() <= most_ && oldest->second.until > now) break;
      if (!replaced) entries_.erase(oldest);
      order_.pop_front();
    }
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    Instant until;
    std::uint64_t turn;
  };
  std::size_t most_;
  std::uint64_t last_turn_ = 0;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::pair<std::string, std::uint64_t>> order_;  // as put
};

}  // namespace berth::scheduler
