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
      std::vector<std::uint64_t> a(size / 64), b(size / 64), c(size / 64, ~0ull);
      mark_rows(group, local, of, 3, a);
      detail::mark_rows_plain(group, local, of, 3, b);
      ASSERT_EQ(a, b);
      mark_group(group, of, false, c);
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ((c[i / 64] >> i % 64 & 1) != 0, group[i] != of) << i;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
