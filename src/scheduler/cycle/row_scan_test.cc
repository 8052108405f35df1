// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/row_scan.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::scheduler {
namespace {

TEST(RowScan, FastAndPlainTwinsAgreeOnRandomRows) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const std::size_t size = 64 * (1 + random.next() % 9);
    std::vector<std::uint16_t> group(size), local(size);
    for (std::size_t i = 0; i < size; ++i) {
      group[i] = random.next() % 4 == 0 ? 0xffff : static_cast<std::uint16_t>(random.next() % 5);
      local[i] = random.next() % 8 == 0 ? 65534 : static_cast<std::uint16_t>(random.next() % 7);
    }
    for (std::uint16_t of = 0; of < 6; ++of) {
      const GroupTop fast = find_top(group, local, of);
      const GroupTop plain = detail::find_top_plain(group, local, of);
      ASSERT_EQ(fast.at_top, plain.at_top);
      if (plain.at_top > 0) {
        ASSERT_EQ(fast.top, plain.top);
      }
      const GroupAndLocal pairs[] = {{of, 3}, {0, 65534}, {2, static_cast<std::uint16_t>(of + 1)}};
      for (std::size_t known = 1; known <= 3; ++known) {
        const auto from = static_cast<std::uint32_t>(random.next() % size);
        const auto to = static_cast<std::uint32_t>(from + random.next() % (size - from + 1));
        ASSERT_EQ(find_row(group, local, {pairs, known}, from, to),
                  detail::find_row_plain(group, local, {pairs, known}, from, to));
      }
      std::vector<std::uint64_t> words(size / 64, ~0ull);
      mark_group(group, of, false, words);
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ((words[i / 64] >> i % 64 & 1) != 0, group[i] != of) << i;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
