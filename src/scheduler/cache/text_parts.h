// SPDX-License-Identifier: Apache-2.0
// Lists inside of label and annotation values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::scheduler {

// Go's strings.Split: an empty text has one empty part.
inline std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> out;
  for (std::size_t at = text.find(by); at != std::string_view::npos; at = text.find(by)) {
    out.emplace_back(text.substr(0, at));
    text.remove_prefix(at + by.size());
  }
  out.emplace_back(text);
  return out;
}

inline std::string_view trimmed(std::string_view text, std::string_view of = " \t\r\n\v\f") {
  const std::size_t first = text.find_first_not_of(of);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(of) - first + 1);
}

}  // namespace berth::scheduler
