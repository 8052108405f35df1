// SPDX-License-Identifier: Apache-2.0
// The part of jq that Stage files select with: paths, iteration, pipes, and select() over
// comparisons with literals. Compiled once; what is outside is refused then.
//
//   .status.conditions.[] | select( .type == "Ready" ) | .status
//   .metadata.annotations["pod-ready.stage.kwok.x-k8s.io/delay"]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/slice.h"

namespace berth::lab {

// Immutable, thread-safe.
class Query {
 public:
  static Result<Query> parse(std::string_view text);
  // All results but nulls. None where jq would fail, as KWOK has it.
  std::vector<json::Slice> run(json::Slice document) const;

 private:
  friend class QueryParser;
  struct Condition;
  struct Step {
    enum class Type : std::uint8_t { kMember, kElement, kEach, kSelect };
    Type type = Type::kMember;
    std::string name = {};                            // kMember
    std::int64_t element = 0;                         // kElement; negative: from the end
    bool forgiving = false;                           // followed by ?
    std::shared_ptr<const Condition> condition = {};  // kSelect
  };
  struct Operand {
    std::string literal = {};  // good JSON; "": a path
    std::vector<Step> path = {};
  };
  // Any of these, each all of those.
  struct Comparison {
    enum class Type : std::uint8_t { kEqual, kUnequal, kTrue };
    Type type = Type::kTrue;
    Operand left = {}, right = {};
  };
  struct Condition {
    std::vector<std::vector<Comparison>> any_of_all;
  };
  static bool run_steps(const std::vector<Step>&, std::vector<json::Slice>&);
  static bool holds(const Condition&, json::Slice, bool& good);

  std::vector<Step> steps_;
};

}  // namespace berth::lab
