// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/row_scan.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#define BERTH_AVX2 __attribute__((target("avx2")))
#endif

namespace berth::scheduler {
namespace detail {

GroupTop find_top_plain(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                        std::uint16_t of) {
  GroupTop best;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] != of) continue;
    if (best.at_top == 0 || local[i] > best.top) best = {local[i], 0};
    best.at_top += local[i] == best.top ? 1 : 0;
  }
  return best;
}

std::uint32_t find_row_plain(std::span<const std::uint16_t> group,
                             std::span<const std::uint16_t> local,
                             std::span<const GroupAndLocal> pairs, std::uint32_t from,
                             std::uint32_t to) {
  for (std::uint32_t row = from; row < to; ++row)
    for (const GroupAndLocal& pair : pairs)
      if (local[row] == pair.local && group[row] == pair.group) return row;
  return to;
}

namespace {
void mark_group_plain(std::span<const std::uint16_t> group, std::uint16_t of, bool in,
                      std::span<std::uint64_t> words) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < 64; ++i)
      mask |= static_cast<std::uint64_t>(group[w * 64 + i] == of) << i;
    words[w] = in ? words[w] | mask : words[w] & ~mask;
  }
}
}  // namespace

}  // namespace detail

#if defined(__x86_64__)
namespace {

bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2") != 0;
  return yes;
}

BERTH_AVX2 inline __m256i load(const std::uint16_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// One bit a lane of 32 lanes.
BERTH_AVX2 inline std::uint64_t bits_of(__m256i low, __m256i high) {
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(packed));
}

BERTH_AVX2 GroupTop find_top_avx2(std::span<const std::uint16_t> group,
                                  std::span<const std::uint16_t> local, std::uint16_t of) {
  const __m256i wanted = _mm256_set1_epi16(static_cast<short>(of));
  const __m256i one = _mm256_set1_epi16(1);
  // Of each lane the best score and how often it came. Scores plus one, so that 0 means "not of the
  // group". A count does not overflow: a lane sees a sixteenth of the rows.
  __m256i best = _mm256_setzero_si256(), count = best;
  for (std::size_t i = 0; i < group.size(); i += 16) {
    const __m256i in = _mm256_cmpeq_epi16(load(group.data() + i), wanted);
    const __m256i score = _mm256_and_si256(_mm256_add_epi16(load(local.data() + i), one), in);
    const __m256i higher = _mm256_max_epu16(best, score);
    count = _mm256_and_si256(count, _mm256_cmpeq_epi16(higher, best));
    count = _mm256_sub_epi16(count, _mm256_cmpeq_epi16(higher, score));
    best = higher;
  }
  alignas(32) std::uint16_t tops[16], counts[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(tops), best);
  _mm256_store_si256(reinterpret_cast<__m256i*>(counts), count);
  const std::uint16_t top = *std::max_element(tops, tops + 16);
  if (top == 0) return {};
  GroupTop found{static_cast<std::uint16_t>(top - 1), 0};
  for (int lane = 0; lane < 16; ++lane)
    if (tops[lane] == top) found.at_top += counts[lane];
  return found;
}

BERTH_AVX2 std::uint32_t find_row_avx2(std::span<const std::uint16_t> group,
                                       std::span<const std::uint16_t> local,
                                       std::span<const GroupAndLocal> pairs, std::uint32_t from,
                                       std::uint32_t to) {
  std::uint64_t wanted = ~std::uint64_t{0} << from % 64;
  for (std::uint32_t first = from / 64 * 64; first < to; first += 64, wanted = ~std::uint64_t{0}) {
    const std::uint16_t* const g = group.data() + first;
    const std::uint16_t* const l = local.data() + first;
    std::uint64_t hits = 0;
    for (const GroupAndLocal& pair : pairs) {
      const __m256i score = _mm256_set1_epi16(static_cast<short>(pair.local));
      __m256i hit[4];
      for (int j = 0; j < 4; ++j)  // few rows have the score: look at groups only then
        hit[j] = _mm256_cmpeq_epi16(load(l + 16 * j), score);
      const __m256i any =
          _mm256_or_si256(_mm256_or_si256(hit[0], hit[1]), _mm256_or_si256(hit[2], hit[3]));
      if (_mm256_testz_si256(any, any)) continue;
      const __m256i of = _mm256_set1_epi16(static_cast<short>(pair.group));
      for (int j = 0; j < 4; ++j)
        hit[j] = _mm256_and_si256(hit[j], _mm256_cmpeq_epi16(load(g + 16 * j), of));
      hits |= bits_of(hit[0], hit[1]) | bits_of(hit[2], hit[3]) << 32;
    }
    if ((hits & wanted) == 0) continue;
    const std::uint32_t row = first + static_cast<std::uint32_t>(std::countr_zero(hits & wanted));
    return std::min(row, to);
  }
  return to;
}

BERTH_AVX2 void mark_group_avx2(std::span<const std::uint16_t> group, std::uint16_t of, bool in,
                                std::span<std::uint64_t> words) {
  const __m256i wanted = _mm256_set1_epi16(static_cast<short>(of));
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint16_t* const g = &group[w * 64];
    __m256i hit[4];
    for (int j = 0; j < 4; ++j) hit[j] = _mm256_cmpeq_epi16(load(g + 16 * j), wanted);
    const std::uint64_t mask = bits_of(hit[0], hit[1]) | bits_of(hit[2], hit[3]) << 32;
    words[w] = in ? words[w] | mask : words[w] & ~mask;
  }
}

__attribute__((target("popcnt"))) void count_before_popcnt(std::span<const std::uint64_t> words,
                                                           std::span<std::uint32_t> before) {
  std::uint32_t sum = 0;
  for (std::size_t w = 0; w < words.size(); ++w)
    before[w + 1] = sum += static_cast<std::uint32_t>(__builtin_popcountll(words[w]));
}

}  // namespace
#else
namespace {
bool has_avx2() { return false; }
constexpr auto find_top_avx2 = detail::find_top_plain;
constexpr auto find_row_avx2 = detail::find_row_plain;
constexpr auto mark_group_avx2 = detail::mark_group_plain;
}  // namespace
#endif

GroupTop find_top(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                  std::uint16_t of) {
  return has_avx2() ? find_top_avx2(group, local, of) : detail::find_top_plain(group, local, of);
}

std::uint32_t find_row(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                       std::span<const GroupAndLocal> pairs, std::uint32_t from, std::uint32_t to) {
  return has_avx2() ? find_row_avx2(group, local, pairs, from, to)
                    : detail::find_row_plain(group, local, pairs, from, to);
}

void mark_group(std::span<const std::uint16_t> group, std::uint16_t of, bool in,
                std::span<std::uint64_t> words) {
  has_avx2() ? mark_group_avx2(group, of, in, words)
             : detail::mark_group_plain(group, of, in, words);
}

void count_before(std::span<const std::uint64_t> words, std::span<std::uint32_t> before) {
  before[0] = 0;
#if defined(__x86_64__)
  if (has_avx2()) return count_before_popcnt(words, before);  // every such processor has it
#endif
  for (std::size_t w = 0; w < words.size(); ++w)
    before[w + 1] = before[w] + static_cast<std::uint32_t>(std::popcount(words[w]));
}

}  // namespace berth::scheduler
