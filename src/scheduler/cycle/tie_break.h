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

// The first rank in pre-order that is tied, where `tied(first, last)` says whether some rank in
// [first, last] is. There must be one below `size`. Reads little where ties are many.
template <class Tied>
std::uint32_t first_in_preorder(std::uint32_t size, Tied&& tied) {
  const std::uint64_t end = size;
  const auto in_subtree = [&](std::uint64_t root) {
    // Level by level: the ranks of a level are neighbours.
    for (std::uint64_t first = root, last = root; first < end;
         first = 2 * first + 1, last = 2 * last + 2)
      if (tied(static_cast<std::uint32_t>(first),
               static_cast<std::uint32_t>(last < end ? last : end - 1)))
        return true;
    return false;
  };
  std::uint64_t rank = 0;
  while (!tied(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(rank)))
    rank = in_subtree(2 * rank + 1) ? 2 * rank + 1 : 2 * rank + 2;
  return static_cast<std::uint32_t>(rank);
}

// The place of the winner among totals in the order of the feasible list, which is not empty.
std::uint32_t winner_of(std::span<const std::int64_t> totals);
// The same where extenders gave nodes a random number, which decides between equal totals. Numbers
// stand in the order of the list.
std::uint32_t winner_of(std::span<const std::int64_t> totals,
                        std::span<const std::uint64_t> chance);

}  // namespace berth::scheduler
