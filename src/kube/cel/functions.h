// SPDX-License-Identifier: Apache-2.0
// The functions that expressions may call: a row each.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kube/cel/value.h"

namespace re2 {
class RE2;
}

namespace berth::cel {

// What an evaluation may take; a step is worth about as much as one of the real server's.
class Meter {
 public:
  explicit Meter(std::uint64_t most) : most_(most) {}
  bool spend(std::uint64_t steps) {
    spent_ = steps > most_ - spent_ ? most_ : spent_ + steps;
    exhausted_ |= spent_ >= most_;
    return !exhausted_;
  }
  bool exhausted() const { return exhausted_; }
  std::uint64_t spent() const { return spent_; }

 private:
  std::uint64_t most_, spent_ = 0;
  bool exhausted_ = false;
};

using Arguments = std::span<const Value>;

struct Function {
  std::string_view name;
  bool method;              // called on its first argument
  std::vector<Kind> takes;  // kDyn: whatever
  Kind gives;
  Value (*run)(Arguments, Meter&);
};
std::span<const Function> functions();
// Something that Kubernetes has and we do not.
bool is_foreign_function(std::string_view name);

// Of an operator such as "_+_" on operands of these kinds; nullopt: there is none. kDyn operands
// are not asked about.
std::optional<Kind> arithmetic_kind(std::string_view op, Kind a, Kind b);
Value arithmetic(std::string_view op, const Value& a, const Value& b, Meter&);
bool comparable(Kind a, Kind b);
// <0, 0, >0; nullopt: not ordered (NaN).
std::optional<int> order(const Value& a, const Value& b);

// Null: it is no pattern, and `why` says why not.
std::shared_ptr<const re2::RE2> compile_pattern(std::string_view, std::string& why);
Value matches(std::string_view text, const re2::RE2&, Meter&);

}  // namespace berth::cel
