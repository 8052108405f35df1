// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t sequence_length(std::string_view text, char32_t& code) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[length] || code > 0x10ffff || surrogate ? 0 : length;
}

// What could end a line, move a terminal's cursor or turn the reading direction.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

void append_escaped(std::string& out, std::string_view text, Quotes quotes, std::size_t limit) {
  const std::size_t start = out.size();
  const bool quoted = quotes == Quotes::kEscape;
  char escape[8];
  while (!text.empty()) {
    char32_t code = 0;
    const std::size_t length = sequence_length(text, code);
    std::string_view piece = text.substr(0, length);
    if (length == 0)
      piece = "\\ufffd";
    else if (code == '\n')
      piece = "\\n";
    else if (code == '\t')
      piece = "\\t";
    else if (code == '\r')
      piece = "\\r";
    else if (quoted && code == '"')
      piece = "\\\"";
    else if (quoted && code == '\\')
      piece = "\\\\";
    else if (is_control(code))
      piece = {
          escape,
          fmt::format_to_n(escape, sizeof escape, "\\u{:04x}", static_cast<unsigned>(code)).size};
    if (out.size() - start + piece.size() > limit) {
      out += "…";
      return;
    }
    out += piece;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace berth
