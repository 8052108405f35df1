// SPDX-License-Identifier: Apache-2.0
#include "client/base64.h"

#include <cstdint>

namespace berth::client {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (digits == 4) {  // the group before was complete
      if (padding > 0) return std::nullopt;
      digits = 0;
      group = 0;
    }
    if (c == '=') {
      if (digits < 2) return std::nullopt;
      ++padding;
      group <<= 6;
    } else {
      const int value = value_of(c);
      if (value < 0 || padding > 0) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    if (++digits < 4) continue;
    for (int i = 0; i < 3 - padding; ++i)
      out.push_back(static_cast<char>(group >> (16 - 8 * i) & 0xff));
  }
  if (digits != 0 && digits != 4) return std::nullopt;
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out.push_back(k <= have ? kAlphabet[group >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

}  // namespace berth::client
