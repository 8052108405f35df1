// SPDX-License-Identifier: Apache-2.0
// A compiled template: what its parser makes and its renderer walks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/stages/template.h"

namespace berth::lab {

struct Pipeline;

// One word of a command.
struct Argument {
  enum class Type : std::uint8_t {
    kDot,
    kField,     // .a.b
    kVariable,  // $x.a.b
    kText,
    kInteger,
    kBool,
    kNil,
    kGroup,     // ( pipeline ).a.b
    kFunction,  // alone, without arguments
  };
  Type type = Type::kDot;
  std::string text = {};  // of a string; a variable's or function's name
  std::int64_t integer = 0;
  std::vector<std::string> fields = {};
  std::shared_ptr<const Pipeline> group = {};
};

// A function with its arguments, or a value alone.
struct Call {
  std::string function = {};  // "": the value of the first argument
  std::vector<Argument> arguments = {};
};

struct Pipeline {
  std::vector<std::string> variables = {};  // that take its value; of range two
  bool declares = false;                    // := and not =
  std::vector<Call> calls = {};
};

struct Template::Node {
  enum class Type : std::uint8_t { kText, kValue, kIf, kRange, kWith };
  Type type = Type::kText;
  std::string text = {};
  Pipeline pipeline = {};
  std::vector<Node> then = {}, otherwise = {};
};

bool known_function(std::string_view name);

}  // namespace berth::lab
