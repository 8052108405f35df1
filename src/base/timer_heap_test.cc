// SPDX-License-Identifier: Apache-2.0
#include "base/timer_heap.h"

#include <map>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth {
namespace {

TEST(TimerHeap, GivesTimersByTimeThenByArming) {
  TimerHeap<std::string> heap;
  heap.arm(Instant{2s}, "c");
  heap.arm(Instant{1s}, "a");
  heap.arm(Instant{1s}, "b");
  std::string order;
  while (!heap.empty()) order += *heap.take(heap.pop());
  EXPECT_EQ(order, "abc");
}

TEST(TimerHeap, APoppedTimerIsKnownUntilItIsTaken) {
  TimerHeap<int> heap;
  const TimerId id = heap.arm(Instant{1s}, 7);
  EXPECT_EQ(heap.pop(), id);
  EXPECT_TRUE(heap.empty());
  ASSERT_NE(heap.find(id), nullptr);
  heap.rearm(id, Instant{2s});
  EXPECT_EQ(heap.next(), Instant{2s});
  EXPECT_EQ(heap.take(id), 7);
  EXPECT_EQ(heap.take(id), std::nullopt);
  EXPECT_TRUE(heap.empty());
}

TEST(TimerHeap, AnOldIdIsNotMistakenForANewTimer) {
  TimerHeap<int> heap;
  const TimerId old = heap.arm(Instant{1s}, 1);
  heap.take(old);
  const TimerId fresh = heap.arm(Instant{1s}, 2);
  EXPECT_NE(old, fresh);
  EXPECT_EQ(heap.find(old), nullptr);
  EXPECT_EQ(heap.find(TimerId::kNone), nullptr);
  EXPECT_EQ(heap.take(fresh), 2);
}

// Against the plainest thing that does the same.
TEST(TimerHeap, AgreesWithASortedMapWhateverIsArmedAndCancelled) {
  Random random(11);
  TimerHeap<int> heap;
  std::map<std::pair<Instant, int>, TimerId> model;  // arming order is the second half of the key
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t what = random.below(10);
    if (what < 5) {
      const Instant when{Duration(random.below(1000))};
      model[{when, i}] = heap.arm(when, i);
    } else if (model.empty()) {
      ASSERT_TRUE(heap.empty());
    } else if (what < 8) {
      const auto first = model.begin();
      ASSERT_EQ(heap.next(), first->first.first);
      ASSERT_EQ(heap.take(heap.pop()), first->first.second);
      model.erase(first);
    } else {
      const auto any =
          std::next(model.begin(), static_cast<std::ptrdiff_t>(random.below(model.size())));
      ASSERT_EQ(heap.take(any->second), any->first.second);
      model.erase(any);
    }
    ASSERT_EQ(heap.size(), model.size());
  }
}

}  // namespace
}  // namespace berth
