// SPDX-License-Identifier: Apache-2.0
// JSON for people: indented as Go does it, piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

// Thread-compatible. The pieces together are one good document; they may be cut anywhere.
class Indenter {
 public:
  void add(std::string_view piece, std::string& out);

 private:
  void new_line(std::string& out) const;
  unsigned depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool fresh_ = false;  // a bracket was opened and nothing has followed
};

}  // namespace berth::apiserver
