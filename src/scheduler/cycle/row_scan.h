// SPDX-License-Identifier: Apache-2.0
// The two scans that a cached decision makes over all rows: 16-bit group and local score side by
// side. On processors with AVX2 sixteen rows at a time.
#pragma once

#include <cstdint>
#include <span>

namespace berth::scheduler {

struct GroupTop {
  std::uint16_t top = 0;
  std::uint32_t at_top = 0;  // rows that have it; 0: the group is empty
};

// `group` and `local` are as long as each other and a multiple of 64.
GroupTop find_top(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                  std::uint16_t of);
// The first row in [from, to) that has one of these pairs; `to` where none has.
struct GroupAndLocal {
  std::uint16_t group, local;
};
std::uint32_t find_row(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                       std::span<const GroupAndLocal> pairs, std::uint32_t from, std::uint32_t to);
// Bit i of word w is set or cleared where row 64 w + i is of that group.
void mark_group(std::span<const std::uint16_t> group, std::uint16_t of, bool in,
                std::span<std::uint64_t> words);

// before[w + 1]: bits in the words up to w; before[0] is 0. One longer than `words`.
void count_before(std::span<const std::uint64_t> words, std::span<std::uint32_t> before);

namespace detail {  // for tests: the twins for other processors
GroupTop find_top_plain(std::span<const std::uint16_t>, std::span<const std::uint16_t>,
                        std::uint16_t);
std::uint32_t find_row_plain(std::span<const std::uint16_t>, std::span<const std::uint16_t>,
                             std::span<const GroupAndLocal>, std::uint32_t, std::uint32_t);
}  // namespace detail

}  // namespace berth::scheduler
