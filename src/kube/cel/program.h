// SPDX-License-Identifier: Apache-2.0
// A stated subset of CEL (docs/up.md has it), compiled once and evaluated often. What is outside of
// it is refused when it is compiled, never guessed when it is evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cel/check.h"
#include "kube/cel/value.h"

namespace berth::cel {

// Immutable, thread-safe; copies share.
class Program {
 public:
  // k8s 1.36: what one expression may cost.
  static constexpr std::uint64_t kMostCost = 1'000'000;

  // The error says what is wrong and where: `ERROR: <input>:1:6: undefined field 'x'` …
  static Result<Program> compile(std::string_view text, std::vector<Variable>);

  Kind kind() const;  // of what it evaluates to
  bool uses(std::string_view variable) const;

  struct Answer {
    Value value;
    std::uint64_t cost = 0;
    bool exhausted = false;
  };
  // A node for each variable, in order. The answer is valid as long as these and this.
  Answer evaluate(std::span<const Node> variables, std::uint64_t most = kMostCost) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace berth::cel
