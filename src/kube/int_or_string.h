// SPDX-License-Identifier: Apache-2.0
// A number or a text such as "25%" in one field: maxUnavailable, targetPort.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "json/slice.h"

namespace berth::kube {

// A value; thread-compatible.
class IntOrString {
 public:
  IntOrString(std::int32_t number) : value_(number) {}        // NOLINT(google-explicit-constructor)
  IntOrString(std::string text) : value_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  // A JSON string or whole number; absent and null are 0, as in Go.
  static Result<IntOrString> from_json(json::Slice);
  static IntOrString parse(std::string_view text);  // a number where it is one

  bool is_int() const { return std::holds_alternative<std::int32_t>(value_); }
  std::string text() const;
  std::string json() const;
  int number() const;  // a text's digits too; 0 for other texts

  // The number as it is, or a percentage of `total`. A text that is no percentage is an error.
  Result<std::int64_t> scaled(std::int64_t total, bool round_up) const;
  friend bool operator==(const IntOrString&, const IntOrString&) = default;

 private:
  std::variant<std::int32_t, std::string> value_;
};

}  // namespace berth::kube
