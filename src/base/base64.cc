// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace berth {

namespace {

constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encode(std::string_view bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = (held << 8) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += alphabet[(held >> (bits - 6)) & 63];
  }
  if (bits > 0) out += alphabet[(held << (6 - bits)) & 63];
  return out;
}

std::optional<std::string> decode(std::string_view text, std::string_view alphabet) {
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  int bits = 0;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    held = (held << 6) | static_cast<std::uint32_t>(digit);
    ++digits;
    if ((bits += 6) >= 8) {
      bits -= 8;
      out += static_cast<char>((held >> bits) & 255);
    }
  }
  if (digits % 4 == 1) return std::nullopt;
  return out;
}

}  // namespace

std::string base64url(std::string_view bytes) { return encode(bytes, kUrl); }
std::optional<std::string> from_base64url(std::string_view text) { return decode(text, kUrl); }

std::string base64(std::string_view bytes) {
  std::string out = encode(bytes, kPlain);
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::optional<std::string> from_base64(std::string_view padded) {
  const auto breaks =
      std::count_if(padded.begin(), padded.end(), [](char c) { return c == '\n' || c == '\r'; });
  if ((padded.size() - static_cast<std::size_t>(breaks)) % 4 != 0) return std::nullopt;
  for (int padding = 0; !padded.empty();) {
    const char last = padded.back();
    if (last != '\n' && last != '\r' && (last != '=' || ++padding > 2)) break;
    padded.remove_suffix(1);
  }
  return decode(padded, kPlain);
}

}  // namespace berth
