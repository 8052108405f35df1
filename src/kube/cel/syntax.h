// SPDX-License-Identifier: Apache-2.0
// The text of an expression as a tree. Macros are told here, as CEL has it: what they bind is not a
// function's business.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cel/value.h"

namespace berth::cel {

struct Function;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum class Kind : std::uint8_t {
    kLiteral,
    kName,
    kSelect,  // args[0].name
    kHas,     // has(args[0].name)
    kCall,    // operators, too: "_+_", "!_"
    kList,
    kMap,   // key, value, key, value …
    kLoop,  // name: all, exists, exists_one, map, filter; args: range, body [, filter first]
  };
  Kind kind = Kind::kLiteral;
  std::size_t at = 0;  // in the text
  Value literal = {};
  std::string name = {};
  std::string variable = {};  // that a loop binds
  bool method = false;        // args[0] is what it is called on
  std::vector<ExprPtr> args = {};
  int depth = 0;
  // Found by the check.
  TypePtr type = {};
  int local = -1;                               // of a name: the loop that binds it, outermost 0
  std::size_t root = 0;                         // else: which of the variables
  std::vector<const Function*> functions = {};  // of a call: those that may be meant
  std::shared_ptr<const void> compiled = {};    // of a constant pattern
};

// What is wrong, as cel-go says it: `ERROR: <input>:1:6: …`, the line, and a mark under the place.
std::string complaint(std::string_view text, std::size_t at, std::string_view what);

// The error is a complaint.
Result<ExprPtr> parse_expression(std::string_view text);

}  // namespace berth::cel
