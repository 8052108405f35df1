// SPDX-License-Identifier: Apache-2.0
// The byte searches under Cursor and Slice, sixteen bytes at a time where the processor can.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace berth::json::scan {

#if defined(__SSE2__)

struct Block {
  static constexpr std::ptrdiff_t kBytes = 16;
  static constexpr unsigned kBitsPerByte = 1;
  using Mask = unsigned;
  __m128i v;

  explicit Block(const char* p) : v(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) {}
  static __m128i all(char c) { return _mm_set1_epi8(c); }
  static Mask bits(__m128i m) { return static_cast<Mask>(_mm_movemask_epi8(m)); }

  // '"', '\', a control character, or a byte of a longer UTF-8 sequence (signed: below 0x20 too).
  Mask special() const {
    return bits(
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, all('"')), _mm_cmpeq_epi8(v, all('\\'))),
                     _mm_cmplt_epi8(v, all(0x20))));
  }
  Mask quote_or_backslash() const {
    return bits(_mm_or_si128(_mm_cmpeq_epi8(v, all('"')), _mm_cmpeq_epi8(v, all('\\'))));
  }
};
#define BERTH_JSON_BLOCKS 1

#elif defined(__ARM_NEON) && defined(__aarch64__)

struct Block {
  static constexpr std::ptrdiff_t kBytes = 16;
  static constexpr unsigned kBitsPerByte = 4;
  using Mask = std::uint64_t;
  uint8x16_t v;

  explicit Block(const char* p) : v(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p))) {}
  static Mask bits(uint8x16_t m) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(m), 4)), 0);
  }
  uint8x16_t is(char c) const { return vceqq_u8(v, vdupq_n_u8(static_cast<std::uint8_t>(c))); }

  Mask special() const {
    const uint8x16_t odd = vorrq_u8(vcltq_u8(v, vdupq_n_u8(0x20)), vcgeq_u8(v, vdupq_n_u8(0x80)));
    return bits(vorrq_u8(odd, vorrq_u8(is('"'), is('\\'))));
  }
  Mask quote_or_backslash() const { return bits(vorrq_u8(is('"'), is('\\'))); }
};
#define BERTH_JSON_BLOCKS 1

#endif

// The first byte in [p, end) that needs a look while a string is checked; `end` when there is none.
inline const char* string_special(const char* p, const char* end) {
#ifdef BERTH_JSON_BLOCKS
  for (; end - p >= Block::kBytes; p += Block::kBytes)
    if (const auto mask = Block(p).special(); mask != 0)
      return p + std::countr_zero(mask) / static_cast<int>(Block::kBitsPerByte);
#endif
  for (; p != end; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) break;
  }
  return p;
}

// The same for a string that is known to be good: only its end and escapes matter.
inline const char* quote_or_backslash(const char* p, const char* end) {
#ifdef BERTH_JSON_BLOCKS
  for (; end - p >= Block::kBytes; p += Block::kBytes)
    if (const auto mask = Block(p).quote_or_backslash(); mask != 0)
      return p + std::countr_zero(mask) / static_cast<int>(Block::kBitsPerByte);
#endif
  while (p != end && *p != '"' && *p != '\\') ++p;
  return p;
}

#undef BERTH_JSON_BLOCKS

#if defined(__SSE2__)
// Which of 64 bytes are quotes, backslashes, opening and closing brackets, one bit a byte.
struct Marks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opening = 0;
  std::uint64_t closing = 0;

  explicit Marks(const char* p) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Block block(p + 16 * i);
      // '[' and '{' differ in one bit, so do ']' and '}'.
      const __m128i folded = _mm_or_si128(block.v, Block::all(0x20));
      const auto bits = [i](__m128i equal) {
        return std::uint64_t{Block::bits(equal)} << (16 * i);
      };
      quotes |= bits(_mm_cmpeq_epi8(block.v, Block::all('"')));
      backslashes |= bits(_mm_cmpeq_epi8(block.v, Block::all('\\')));
      opening |= bits(_mm_cmpeq_epi8(folded, Block::all('{')));
      closing |= bits(_mm_cmpeq_epi8(folded, Block::all('}')));
    }
  }
};
#endif

// Bit i of the answer: is the number of bits set in [0, i] odd?
inline std::uint64_t running_parity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of the well-formed UTF-8 sequence at p; 0 when it is none.
inline std::size_t utf8_length(const char* p, const char* end) {
  const auto at = [p](int i) { return static_cast<unsigned char>(p[i]); };
  const auto follows = [&](int i) { return (at(i) & 0xC0) == 0x80; };
  const std::ptrdiff_t left = end - p;
  if (left <= 0) return 0;
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !follows(1) || !follows(2)) return 0;
    if (lead == 0xE0 && at(1) < 0xA0) return 0;  // overlong
    if (lead == 0xED && at(1) > 0x9F) return 0;  // a surrogate
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  if (lead == 0xF0 && at(1) < 0x90) return 0;  // overlong
  if (lead == 0xF4 && at(1) > 0x8F) return 0;  // beyond U+10FFFF
  return 4;
}

}  // namespace berth::json::scan
