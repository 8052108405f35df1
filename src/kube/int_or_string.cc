// SPDX-License-Identifier: Apache-2.0
#include "kube/int_or_string.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/label_selector.h"

namespace berth::kube {
namespace {

bool fits(std::int64_t n) {
  return n >= std::numeric_limits<std::int32_t>::min() &&
         n <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

Result<IntOrString> IntOrString::from_json(json::Slice slice) {
  if (!slice.present() || slice.is_null()) return IntOrString(0);
  if (slice.is_string()) return IntOrString(slice.text());
  const auto number = slice.is_number() ? slice.integer() : std::nullopt;
  if (!number || !fits(*number))
    return invalid(fmt::format("{} is neither a 32-bit number nor a string", slice.raw()));
  return IntOrString(static_cast<std::int32_t>(*number));
}

IntOrString IntOrString::parse(std::string_view text) {
  const auto number = parse_decimal(text);
  if (number && fits(*number)) return IntOrString(static_cast<std::int32_t>(*number));
  return IntOrString(std::string(text));
}

std::string IntOrString::text() const {
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  return std::to_string(std::get<std::int32_t>(value_));
}

std::string IntOrString::json() const {
  if (is_int()) return text();
  std::string out;
  json::append_quoted(out, std::get<std::string>(value_));
  return out;
}

int IntOrString::number() const {
  if (is_int()) return std::get<std::int32_t>(value_);
  const std::int64_t number = parse_decimal(std::get<std::string>(value_)).value_or(0);
  return fits(number) ? static_cast<int>(number) : 0;
}

Result<std::int64_t> IntOrString::scaled(std::int64_t total, bool round_up) const {
  if (is_int()) return std::get<std::int32_t>(value_);
  const std::string& text = std::get<std::string>(value_);
  if (!text.ends_with('%'))
    return invalid(fmt::format("\"{}\" is neither a number nor a percentage such as 25%", text));
  const auto percent = parse_decimal(std::string_view(text).substr(0, text.size() - 1));
  if (!percent) return invalid(fmt::format("\"{}\" is no percentage; write one such as 25%", text));
  const double exact = static_cast<double>(*percent) * static_cast<double>(total) / 100;
  const double rounded = round_up ? std::ceil(exact) : std::floor(exact);
  // Beyond 64 bits Go gives the least integer on x86.
  if (!(rounded > -9.3e18 && rounded < 9223372036854775807.0) || rounded < -9223372036854775808.0)
    return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(rounded);
}

}  // namespace berth::kube
