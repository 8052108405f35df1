// SPDX-License-Identifier: Apache-2.0
// How plugins walk over rows: whole words of 64 where most rows still matter, row by row where few
// do. The loops inside are plain, so that the compiler can make vector code of them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "scheduler/cache/row_set.h"
#include "scheduler/framework/reasons.h"

namespace berth::scheduler {

// From so many rows of a word on, working on all 64 is cheaper than picking.
inline constexpr int kDenseWord = 12;

// Calls run(begin, end) so that all rows in `of` are covered, and others only beside many that are.
template <class Run>
void for_each_run(const RowSet& of, Run&& run) {
  const std::uint32_t size = of.size();
  std::uint32_t begin = 0, end = 0;  // dense words that follow each other
  for (std::uint32_t w = 0; w * 64 < size; ++w) {
    std::uint64_t word = of.words()[w];
    if (std::popcount(word) >= kDenseWord) {
      if (begin == end) begin = w * 64;
      end = w * 64 + 64 < size ? w * 64 + 64 : size;
      continue;
    }
    if (begin != end) run(begin, end);
    begin = end;
    for (; word != 0; word &= word - 1) {
      const std::uint32_t row = w * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
      run(row, row + 1);
    }
  }
  if (begin != end) run(begin, end);
}

// Bit i of the result is byte i, each 0 or 1.
inline std::uint64_t packed(const std::uint8_t (&bytes)[64]) {
  std::uint64_t bits = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + i * 8, 8);
    if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
    bits |= (eight * 0x0102040810204080u) >> 56 << i * 8;
  }
  return bits;
}

// Takes from `keep` the rows that mark(begin, count, bytes) gives a 1, called for up to 64 rows
// that follow each other; some may not be in `keep`. reason(row) is asked about the rows that go,
// and only where reasons are wanted.
template <class Mark, class ReasonOf>
void reject_bytes(RowSet& keep, Rejections* why, Mark&& mark, ReasonOf&& reason) {
  const std::uint32_t size = keep.size();
  for (std::uint32_t w = 0; w * 64 < size; ++w) {
    std::uint64_t& word = keep.words()[w];
    if (word == 0) continue;
    const std::uint32_t first = w * 64;
    std::uint64_t gone = 0;
    std::uint8_t bytes[64] = {};
    if (std::popcount(word) >= kDenseWord) {
      mark(first, size - first < 64 ? size - first : 64, bytes);
      gone = packed(bytes) & word;
    } else {
      for (std::uint64_t rest = word; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
        mark(first + i, 1, bytes);
        gone |= std::uint64_t{bytes[0]} << i;
      }
    }
    word &= ~gone;
    if (why == nullptr) continue;
    for (; gone != 0; gone &= gone - 1) {
      const std::uint32_t row = first + static_cast<std::uint32_t>(std::countr_zero(gone));
      why->reject(row, reason(row));
    }
  }
}

// The same with out(row), for one row at a time.
template <class Out, class ReasonOf>
void reject_rows(RowSet& keep, Rejections* why, Out&& out, ReasonOf&& reason) {
  reject_bytes(
      keep, why,
      [&](std::uint32_t begin, std::uint32_t count, std::uint8_t* bytes) {
        for (std::uint32_t i = 0; i < count; ++i) bytes[i] = out(begin + i) ? 1 : 0;
      },
      reason);
}

// The same with one reason for all.
template <class Out>
void reject_rows(RowSet& keep, Rejections* why, ReasonId reason, Out&& out) {
  reject_rows(keep, why, out, [reason](std::uint32_t) { return reason; });
}

}  // namespace berth::scheduler
