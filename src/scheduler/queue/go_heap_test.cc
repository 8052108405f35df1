// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/go_heap.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/queue/literal_heap_for_test.h"

namespace berth::scheduler {
namespace {

struct Item {
  int rank = 0;
  int number = 0;
  std::size_t heap_index = 0;
};
struct ByRank {
  bool operator()(const Item& a, const Item& b) const { return a.rank < b.rank; }
};
using Heap = GoHeap<Item, ByRank>;

std::vector<int> numbers(const Heap& heap) {
  std::vector<int> numbers;
  for (const Item* item : heap.items()) numbers.push_back(item->number);
  return numbers;
}

TEST(GoHeap, EqualItemsLeaveInTheOrderOfGosAlgorithmNotOfArrival) {
  std::vector<Item> items;
  for (int i = 0; i < 6; ++i) items.push_back({.number = i});
  Heap heap{ByRank{}};
  for (Item& item : items) heap.push(item);
  std::vector<int> order;
  while (!heap.empty()) order.push_back(heap.pop()->number);
  // As Go 1.26 gives it: the last of the array takes the head's place.
  EXPECT_EQ(order, (std::vector<int>{0, 5, 4, 3, 2, 1}));
}

TEST(GoHeap, AnItemKnowsWhereItStands) {
  std::vector<Item> items(9);
  Heap heap{ByRank{}};
  for (int i = 0; i < 9; ++i) {
    items[static_cast<std::size_t>(i)].rank = 9 - i;
    heap.push(items[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(heap.items()[i]->heap_index, i);
}

TEST(GoHeap, RemovingTheLastItemDisturbsNoOther) {
  std::vector<Item> items;
  for (int i = 0; i < 5; ++i) items.push_back({.rank = i, .number = i});
  Heap heap{ByRank{}};
  for (Item& item : items) heap.push(item);
  heap.remove(items[4]);
  EXPECT_EQ(numbers(heap), (std::vector<int>{0, 1, 2, 3}));
}

TEST(GoHeap, FixMovesAnItemEitherWay) {
  std::vector<Item> items;
  for (int i = 0; i < 7; ++i) items.push_back({.rank = 10 * i, .number = i});
  Heap heap{ByRank{}};
  for (Item& item : items) heap.push(item);
  items[6].rank = -1;
  heap.fix(items[6]);
  EXPECT_EQ(heap.top(), &items[6]);
  items[6].rank = 100;
  heap.fix(items[6]);
  EXPECT_EQ(heap.top(), &items[0]);
}

TEST(GoHeap, DoesWhatTheLiteralHeapDoes) {
  Random random(2026);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::unique_ptr<Item>> items;
    std::vector<Item*> inside;
    Heap heap{ByRank{}};
    test::LiteralHeap<Item> literal([](const Item& a, const Item& b) { return a.rank < b.rank; });
    for (int step = 0; step < 120; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5 || inside.empty()) {
        items.push_back(std::make_unique<Item>(
            Item{.rank = static_cast<int>(random.below(4)), .number = step}));
        inside.push_back(items.back().get());
        heap.push(*items.back());
        literal.add_or_update(std::to_string(step), *items.back());
      } else if (what < 7) {
        const Item* popped = heap.pop();
        EXPECT_EQ(popped->number, literal.pop().number);
        std::erase(inside, popped);
      } else {
        Item* item = inside[random.below(inside.size())];
        if (what == 7) {
          heap.remove(*item);
          literal.erase(std::to_string(item->number));
          std::erase(inside, item);
        } else {
          item->rank = static_cast<int>(random.below(4));
          heap.fix(*item);
          literal.add_or_update(std::to_string(item->number), *item);
        }
      }
      std::vector<int> expected;
      for (const auto& entry : literal.entries()) expected.push_back(entry.value.number);
      ASSERT_EQ(numbers(heap), expected) << "round " << round << " step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
