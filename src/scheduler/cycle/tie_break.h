// SPDX-License-Identifier: Apache-2.0
// Which of several equally good nodes wins. kube-scheduler makes a binary heap of the feasible
// nodes and takes its top; what follows gives the same node without the heap.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace berth::scheduler {

// k8s 1.36: ties go to the first maximum in heap pre-order (node, left subtree, right subtree) of
// the list of feasible nodes. The smallest key wins; it does not depend on how long the list is.
constexpr std::uint64_t preorder_key(std::uint32_t rank) {
  const std::uint64_t x = std::uint64_t{rank} + 1;
  const auto depth = static_cast<std::uint64_t>(std::bit_width(x) - 1);
  return (x << (55 - depth)) << 8 | depth;  // left-aligned path, shorter path first
}

// The first rank in pre-order that is tied, where `next(rank)` gives the first tied one from `rank`
// on, or `size`. There must be one below `size`. Goes down level by level, whose ranks are
// neighbours: only what lies left of the best so far comes before it, so that little is read where
// ties are many, and nothing twice where they are few.
template <class Next>
std::uint32_t first_in_preorder(std::uint32_t size, Next&& next) {
  std::uint32_t best = size;
  std::uint64_t first = 0, last = 0, tied = next(0);
  while (tied < size) {
    if (tied <= last) {
      best = static_cast<std::uint32_t>(tied);
      if (tied == first) break;
      last = tied - 1;
    }
    first = 2 * first + 1;
    last = 2 * last + 2;
    if (first >= size) break;
    if (tied < first) tied = next(static_cast<std::uint32_t>(first));
  }
  return best;
}

// The place of the winner among totals in the order of the feasible list, which is not empty.
std::uint32_t winner_of(std::span<const std::int64_t> totals);
// The same where extenders gave nodes a random number, which decides between equal totals. Numbers
// stand in the order of the list.
std::uint32_t winner_of(std::span<const std::int64_t> totals,
                        std::span<const std::uint64_t> chance);

}  // namespace berth::scheduler
