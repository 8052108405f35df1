// SPDX-License-Identifier: Apache-2.0
#include "base/intern.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth {
namespace {

TEST(InternTable, EqualStringsShareAnId) {
  InternTable table;
  const Interned a(table, "app"), b(table, std::string("app")), c(table, "tier");
  EXPECT_EQ(a, b);
  EXPECT_NE(a.id(), c.id());
  EXPECT_EQ(a.text(), "app");
  EXPECT_EQ(table.size(), 2u);
}

TEST(InternTable, TheEmptyStringIsAStringAndNoneIsNot) {
  InternTable table;
  const Interned empty(table, ""), none;
  EXPECT_NE(empty.id(), StringId::kNone);
  EXPECT_EQ(none.id(), StringId::kNone);
  EXPECT_EQ(none.text(), "");
  table.release(StringId::kNone);
}

TEST(InternTable, AStringNobodyHoldsIsForgottenAndItsPlaceUsedAgain) {
  InternTable table;
  const StringId first = table.acquire("a long string that does not fit inside its own object");
  table.retain(first);
  table.release(first);
  EXPECT_EQ(table.size(), 1u);
  table.release(first);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.acquire_known("a long string that does not fit inside its own object"),
            StringId::kNone);
  EXPECT_EQ(table.acquire("another"), first);
  table.release(first);
}

TEST(InternTable, KnownStringsAreFoundWithoutAddingOthers) {
  InternTable table;
  const Interned held(table, "held");
  const StringId found = table.acquire_known("held");
  EXPECT_EQ(found, held.id());
  table.release(found);
  EXPECT_EQ(table.acquire_known("unknown"), StringId::kNone);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InternTable, HandlesCountTheirCopies) {
  InternTable table;
  {
    Interned a(table, "a");
    Interned copy = a;
    Interned moved = std::move(a);
    copy = Interned(table, "b");
    EXPECT_EQ(moved.text(), "a");
    EXPECT_EQ(table.size(), 2u);
    moved = copy;
    EXPECT_EQ(table.size(), 1u);
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(InternTable, GrowsAndKeepsEveryTextInItsPlace) {
  InternTable table;
  std::vector<Interned> all;
  std::vector<std::string_view> texts;
  for (int i = 0; i < 20000; ++i) {
    all.emplace_back(table, "label-value-" + std::to_string(i));
    texts.push_back(all.back().text());
  }
  EXPECT_EQ(table.size(), 20000u);
  for (int i = 0; i < 20000; ++i) {
    const std::string expected = "label-value-" + std::to_string(i);
    ASSERT_EQ(texts[static_cast<std::size_t>(i)], expected);
    ASSERT_EQ(Interned(table, expected).id(), all[static_cast<std::size_t>(i)].id());
  }
}

TEST(InternTable, ChurnDoesNotUseUpNewIds) {
  InternTable table;
  std::uint32_t most = 0;
  for (int i = 0; i < 100000; ++i)
    most = std::max(most, static_cast<std::uint32_t>(Interned(table, std::to_string(i)).id()));
  EXPECT_EQ(most, 1u);
}

// Threads take and drop the same few strings, so that each is added, found, revived and removed all
// the time. While a thread holds one, its id and text stay, and every other thread finds that id.
TEST(InternTable, StaysTrueWhileThreadsAddAndDropTheSameStrings) {
  InternTable table;
  const Interned pinned(table, "pinned");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Random random(t);
      std::vector<Interned> held(8);
      for (int i = 0; i < 20000; ++i) {
        const std::string text = "value-of-a-label-" + std::to_string(random.below(40));
        Interned taken(table, text);
        if (taken.text() != text || Interned(table, text).id() != taken.id()) ++wrong;
        held[random.below(held.size())] = std::move(taken);
        const StringId always = table.acquire_known("pinned");
        if (always != pinned.id()) ++wrong;
        table.release(always);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(table.size(), 1u);
}

// A thread that adds makes the table grow under the others.
TEST(InternTable, StaysTrueWhileItGrows) {
  InternTable table;
  std::vector<Interned> known;
  for (int i = 0; i < 200; ++i) known.emplace_back(table, "known-" + std::to_string(i));
  std::atomic<bool> grown{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Random random(t);
      while (!grown) {
        const std::size_t i = random.below(known.size());
        const StringId id = table.acquire_known("known-" + std::to_string(i));
        if (id != known[i].id()) ++wrong;
        table.release(id);
      }
    });
  std::vector<Interned> added;
  for (int i = 0; i < 30000; ++i) added.emplace_back(table, "added-" + std::to_string(i));
  grown = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(InternTableDeathTest, AnIdReleasedTooOftenIsABug) {
  InternTable table;
  const StringId id = table.acquire("a");
  table.release(id);
  EXPECT_DEATH(table.release(id), "released once too often");
  EXPECT_DEATH(table.retain(id), "nobody holds");
}

}  // namespace
}  // namespace berth
