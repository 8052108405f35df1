// SPDX-License-Identifier: Apache-2.0
// Whether an expression can mean anything: names that there are, members that their types have,
// operators and functions that take what they are given.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kube/cel/syntax.h"

namespace berth::cel {

struct Variable {
  std::string name;
  TypePtr type;
};

// Writes into the tree what it finds. "": all is well; else a complaint.
std::string check(Expr&, std::string_view text, std::span<const Variable>);

}  // namespace berth::cel
