// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/tie_break.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace berth::scheduler {

std::uint32_t winner_of(std::span<const std::int64_t> totals) {
  BERTH_CHECK(!totals.empty());
  const std::int64_t best = *std::max_element(totals.begin(), totals.end());
  std::uint32_t winner = 0;
  std::uint64_t winning_key = ~std::uint64_t{0};
  for (std::uint32_t rank = 0; rank < totals.size(); ++rank) {
    if (totals[rank] != best) continue;
    if (const std::uint64_t key = preorder_key(rank); key < winning_key) {
      winning_key = key;
      winner = rank;
    }
  }
  return winner;
}

std::uint32_t winner_of(std::span<const std::int64_t> totals,
                        std::span<const std::uint64_t> chance) {
  BERTH_CHECK(!totals.empty() && totals.size() == chance.size());
  // Equal pairs of total and number are ties again, so the rule above holds for pairs.
  const auto better = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(totals[a], chance[a]) > std::pair(totals[b], chance[b]);
  };
  std::uint32_t winner = 0;
  for (std::uint32_t rank = 1; rank < totals.size(); ++rank)
    if (better(rank, winner) ||
        (!better(winner, rank) && preorder_key(rank) < preorder_key(winner)))
      winner = rank;
  return winner;
}

}  // namespace berth::scheduler
