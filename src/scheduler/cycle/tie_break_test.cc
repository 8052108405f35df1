// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/tie_break.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::scheduler {
namespace {

struct Scored {
  std::int64_t total;
  std::uint64_t chance;
  std::uint32_t place;
};

// Go's container/heap, step by step: Init, then the top of Pop.
std::uint32_t heap_winner(std::vector<Scored> heap) {
  const auto less = [&heap](std::size_t i, std::size_t j) {
    return heap[i].total > heap[j].total ||
           (heap[i].total == heap[j].total && heap[i].chance > heap[j].chance);
  };
  const std::size_t n = heap.size();
  for (std::size_t start = n / 2; start-- > 0;) {
    for (std::size_t i = start;;) {
      std::size_t j = 2 * i + 1;
      if (j >= n) break;
      if (j + 1 < n && less(j + 1, j)) ++j;
      if (!less(j, i)) break;
      std::swap(heap[i], heap[j]);
      i = j;
    }
  }
  return heap.front().place;
}

TEST(TieBreak, PreOrderOfASmallHeapIsNodeLeftRight) {
  std::vector<std::uint32_t> ranks(7);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(),
            [](auto a, auto b) { return preorder_key(a) < preorder_key(b); });
  EXPECT_EQ(ranks, (std::vector<std::uint32_t>{0, 1, 3, 4, 2, 5, 6}));
}

TEST(TieBreak, KeysOfTheLastRanksStayApart) {
  EXPECT_LT(preorder_key(0), preorder_key(1));
  EXPECT_LT(preorder_key(0x7ffffffe), preorder_key(0xfffffffd));
  EXPECT_NE(preorder_key(0xfffffffe), preorder_key(0xfffffffd));
}

TEST(TieBreak, ThreeWaysGiveTheTopOfGosHeap) {
  Random random(20);
  for (int round = 0; round < 30'000; ++round) {
    const auto size = static_cast<std::uint32_t>(1 + random.below(round % 50 == 0 ? 400 : 40));
    const auto kinds = 1 + random.below(6);
    std::vector<std::int64_t> totals;
    std::vector<Scored> heap;
    for (std::uint32_t i = 0; i < size; ++i) {
      totals.push_back(static_cast<std::int64_t>(random.below(kinds)));
      heap.push_back({totals.back(), 0, i});
    }
    const std::uint32_t expected = heap_winner(heap);
    ASSERT_EQ(winner_of(totals), expected) << "round " << round;
    const std::int64_t best = *std::max_element(totals.begin(), totals.end());
    ASSERT_EQ(first_in_preorder(size,
                                [&](std::uint32_t rank) {
                                  return std::find(totals.begin() + rank, totals.end(), best) -
                                         totals.begin();
                                }),
              expected)
        << "round " << round;
  }
}

TEST(TieBreak, RandomNumbersDecideBetweenEqualTotals) {
  Random random(21);
  for (int round = 0; round < 20'000; ++round) {
    const auto size = static_cast<std::uint32_t>(1 + random.below(40));
    std::vector<std::int64_t> totals;
    std::vector<std::uint64_t> chance;
    std::vector<Scored> heap;
    for (std::uint32_t i = 0; i < size; ++i) {
      totals.push_back(static_cast<std::int64_t>(random.below(3)));
      chance.push_back(random.below(3));
      heap.push_back({totals.back(), chance.back(), i});
    }
    ASSERT_EQ(winner_of(totals, chance), heap_winner(heap)) << "round " << round;
  }
}

}  // namespace
}  // namespace berth::scheduler
