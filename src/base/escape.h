// SPDX-License-Identifier: Apache-2.0
// Text that is safe to put into a line of a log or a JSON string: base must not know json/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

enum class Quotes : unsigned char {
  kKeep,    // for text that stands by itself
  kEscape,  // for text between quotation marks: a JSON string's content
};

// Appends `text` with control characters, line separators and bidirectional overrides escaped as in
// JSON and broken UTF-8 replaced; at most `limit` bytes, then "…".
void append_escaped(std::string& out, std::string_view text, Quotes,
                    std::size_t limit = std::string::npos);

}  // namespace berth
