// SPDX-License-Identifier: Apache-2.0
#include "cli/wrap.h"

#include <algorithm>
#include <string>

namespace berth::cli {

void wrap(std::string_view text, std::size_t indent, std::size_t columns, std::ostream& out) {
  std::string line(indent, ' ');
  const auto flush = [&] {
    out << line << '\n';
    line.assign(indent, ' ');
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() > indent && line.size() + 1 + word.size() > columns) flush();
    if (line.size() > indent) line += ' ';
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (line.size() > indent) flush();
}

}  // namespace berth::cli
