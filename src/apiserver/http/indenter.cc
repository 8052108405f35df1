// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/indenter.h"

namespace berth::apiserver {

void Indenter::new_line(std::string& out) const {
  out += '\n';
  out.append(std::size_t{2} * depth_, ' ');
}

void Indenter::add(std::string_view piece, std::string& out) {
  for (const char c : piece) {
    if (in_string_) {
      out += c;
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      continue;
    }
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '}' || c == ']') {
      --depth_;
      if (!fresh_) new_line(out);
      fresh_ = false;
      out += c;
      continue;
    }
    if (fresh_) new_line(out);
    fresh_ = false;
    out += c;
    switch (c) {
      case '{':
      case '[':
        ++depth_;
        fresh_ = true;
        break;
      case ',':
        new_line(out);
        break;
      case ':':
        out += ' ';
        break;
      case '"':
        in_string_ = true;
        break;
      default:
        break;
    }
  }
}

}  // namespace berth::apiserver
