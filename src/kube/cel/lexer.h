// SPDX-License-Identifier: Apache-2.0
// The words of an expression.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cel/value.h"

namespace berth::cel {

struct Token {
  enum class Kind : std::uint8_t { kName, kLiteral, kMark, kEnd };
  Kind kind = Kind::kEnd;
  std::size_t at = 0;
  std::string_view text = {};  // as it stands
  Value value = {};            // of a literal
};

// Ends with kEnd. The error is a complaint (syntax.h).
Result<std::vector<Token>> tokens_of(std::string_view text);

}  // namespace berth::cel
