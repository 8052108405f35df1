// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

// What other people wrote, fit for one line of a terminal: no control characters, runs of white
// space as one blank, `most` bytes at most.
inline std::string one_line(std::string_view text, std::size_t most = 500) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool blank = byte <= 0x20 || byte == 0x7f;
    // Only whole characters: a cut is made where the next one begins.
    if (out.size() >= most && (byte & 0xc0) != 0x80) break;
    if (!blank)
      out.push_back(c);
    else if (!out.empty() && out.back() != ' ')
      out.push_back(' ');
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace berth::client
