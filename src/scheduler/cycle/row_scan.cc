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

void mark_rows_plain(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                     std::uint16_t of, std::uint16_t score, std::span<std::uint64_t> words) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::size_t i = 0; i < 64; ++i)
      if (group[w * 64 + i] == of && local[w * 64 + i] == score) words[w] |= std::uint64_t{1} << i;
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
  // Scores plus one, so that 0 means "not of the group".
  __m256i best = _mm256_setzero_si256();
  for (std::size_t i = 0; i < group.size(); i += 16) {
    const __m256i in = _mm256_cmpeq_epi16(load(&group[i]), wanted);
    best = _mm256_max_epu16(best, _mm256_and_si256(_mm256_add_epi16(load(&local[i]), one), in));
  }
  alignas(32) std::uint16_t lanes[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), best);
  const std::uint16_t top = *std::max_element(lanes, lanes + 16);
  if (top == 0) return {};
  GroupTop found{static_cast<std::uint16_t>(top - 1), 0};
  const __m256i score = _mm256_set1_epi16(static_cast<short>(found.top));
  for (std::size_t i = 0; i < group.size(); i += 16) {
    const __m256i hit = _mm256_and_si256(_mm256_cmpeq_epi16(load(&group[i]), wanted),
                                         _mm256_cmpeq_epi16(load(&local[i]), score));
    found.at_top += static_cast<std::uint32_t>(
                        __builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(hit)))) /
                    2;
  }
  return found;
}

BERTH_AVX2 void mark_rows_avx2(std::span<const std::uint16_t> group,
                               std::span<const std::uint16_t> local, std::uint16_t of,
                               std::uint16_t score, std::span<std::uint64_t> words) {
  const __m256i wanted = _mm256_set1_epi16(static_cast<short>(of));
  const __m256i points = _mm256_set1_epi16(static_cast<short>(score));
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint16_t* const g = &group[w * 64];
    const std::uint16_t* const l = &local[w * 64];
    __m256i hit[4];
    for (int j = 0; j < 4; ++j)  // few rows have the score: look at groups only then
      hit[j] = _mm256_cmpeq_epi16(load(l + 16 * j), points);
    const __m256i any =
        _mm256_or_si256(_mm256_or_si256(hit[0], hit[1]), _mm256_or_si256(hit[2], hit[3]));
    if (_mm256_testz_si256(any, any)) continue;
    for (int j = 0; j < 4; ++j)
      hit[j] = _mm256_and_si256(hit[j], _mm256_cmpeq_epi16(load(g + 16 * j), wanted));
    words[w] |= bits_of(hit[0], hit[1]) | bits_of(hit[2], hit[3]) << 32;
  }
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
constexpr auto mark_rows_avx2 = detail::mark_rows_plain;
constexpr auto mark_group_avx2 = detail::mark_group_plain;
}  // namespace
#endif

GroupTop find_top(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
                  std::uint16_t of) {
  return has_avx2() ? find_top_avx2(group, local, of) : detail::find_top_plain(group, local, of);
}

void mark_rows(std::span<const std::uint16_t> group, std::span<const std::uint16_t> local,
               std::uint16_t of, std::uint16_t score, std::span<std::uint64_t> words) {
  has_avx2() ? mark_rows_avx2(group, local, of, score, words)
             : detail::mark_rows_plain(group, local, of, score, words);
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
