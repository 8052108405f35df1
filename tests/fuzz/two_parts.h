// SPDX-License-Identifier: Apache-2.0
// Inputs made of two texts: the first line, and the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

inline std::pair<std::string_view, std::string_view> two_parts(const std::uint8_t* data,
                                                               std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  if (end == std::string_view::npos) return {all, {}};
  return {all.substr(0, end), all.substr(end + 1)};
}
