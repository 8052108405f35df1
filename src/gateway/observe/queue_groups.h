// SPDX-License-Identifier: Apache-2.0
// The pods that wait, as rows that people read: pods of one owner, in one place, for one cause
// share a row.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <unordered_map>

#include "gateway/observe/records.h"

namespace berth::gateway {

// Loop-confined to the gateway's.
class QueueGroups {
 public:
  static constexpr std::size_t kMostGroups = 500;
  static constexpr std::size_t kMostMoves = 20;

  void take(const Batch&);
  std::string json() const;  // QueueState of ui/src/api/types.ts

 private:
  std::unordered_map<std::string, QueueChange> pods_;  // by uid
  std::deque<QueueMove> moves_;                        // newest first
  std::array<std::uint32_t, kWaitings> counts_{};
  QueueHistory history_;
};

}  // namespace berth::gateway
