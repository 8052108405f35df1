// SPDX-License-Identifier: Apache-2.0
#include "json/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/base64.h"
#include "json/scan.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::json {

namespace {

using Kind = YamlScalar::Kind;

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

YamlScalar real(double value) {
  YamlScalar scalar{Kind::kFloat, {}, value};
  if (std::isfinite(value)) append_double(scalar.json, value);
  return scalar;
}

// Go's ParseInt with base 0, underscores already gone: 0x, 0o, 0b and a leading 0 choose the base.
std::optional<std::string> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  if (sign) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'o' || kind == 'b' ? 2 : 1);
  }
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  // A sign is for 64-bit signed numbers only; without one the number may be as large as unsigned.
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (sign && value > kMax + (negative ? 1 : 0)) return std::nullopt;
  return (negative && value != 0 ? "-" : "") + std::to_string(value);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && scan::is_digit(text[at])) ++at;
    return at - from;
  };
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  };
  sign();
  const std::size_t before = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0 && before == 0) return false;
  } else if (before == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    sign();
    if (digits() == 0) return false;
  }
  return at == text.size();
}

std::optional<double> float_number(std::string_view text) {
  if (!is_float(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_double(text);  // too large: stays text
}

}  // namespace

bool looks_like_timestamp(std::string_view text) {
  // "2001-1-2", then possibly 'T', 't' or spaces and a time.
  std::size_t at = 0;
  const auto digits = [&](std::size_t least, std::size_t most) {
    const std::size_t from = at;
    while (at < text.size() && at - from < most && scan::is_digit(text[at])) ++at;
    return at - from >= least;
  };
  const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at > 0; };
  return digits(4, 4) && skip('-') && digits(1, 2) && skip('-') && digits(1, 2) &&
         (at == text.size() || text[at] == 'T' || text[at] == 't' || text[at] == ' ');
}

YamlScalar resolve_plain(std::string_view text) {
  if (one_of(text, {"", "~", "null", "Null", "NULL"})) return {Kind::kNull, "null"};
  if (one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
    return {Kind::kBool, "true"};
  if (one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}))
    return {Kind::kBool, "false"};
  if (one_of(text, {".nan", ".NaN", ".NAN"})) return real(std::nan(""));
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) return real(HUGE_VAL);
  if (one_of(text, {"-.inf", "-.Inf", "-.INF"})) return real(-HUGE_VAL);

  YamlScalar string{Kind::kString, std::string(text)};
  if (text[0] == '.') {
    const auto value = float_number(text);
    return value ? real(*value) : string;
  }
  if (text[0] != '+' && text[0] != '-' && !scan::is_digit(text[0])) return string;
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (auto whole = whole_number(plain)) return {Kind::kInteger, std::move(*whole)};
  if (const auto value = float_number(plain)) return real(*value);
  return string;
}

std::optional<YamlScalar> resolve_tagged(std::string_view text, std::string_view tag) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  const YamlScalar string{Kind::kString, std::string(text)};
  if (!tag.starts_with(kStandard)) return string;
  tag.remove_prefix(kStandard.size());
  if (tag == "binary") {
    auto bytes = from_base64(text);
    if (!bytes) return std::nullopt;
    return YamlScalar{Kind::kString, std::move(*bytes)};
  }
  if (tag == "timestamp") return looks_like_timestamp(text) ? std::optional(string) : std::nullopt;
  if (!one_of(tag, {"null", "bool", "int", "float"})) return string;
  YamlScalar scalar = resolve_plain(text);
  switch (scalar.kind) {
    case Kind::kNull:
      if (tag == "null") return scalar;
      break;
    case Kind::kBool:
      if (tag == "bool") return scalar;
      break;
    case Kind::kInteger:
      if (tag == "int") return scalar;
      if (tag == "float") return real(parse_double(scalar.json).value_or(0));
      break;
    case Kind::kFloat:
      if (tag == "float") return scalar;
      break;
    case Kind::kString:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> key_text(const YamlScalar& scalar) {
  if (scalar.kind == Kind::kNull) return std::nullopt;
  if (scalar.kind == Kind::kInteger) {
    std::int64_t value = 0;
    const char* const end = scalar.json.data() + scalar.json.size();
    if (std::from_chars(scalar.json.data(), end, value).ec != std::errc{}) return std::nullopt;
  }
  if (scalar.kind != Kind::kFloat) return scalar.json;
  if (std::isnan(scalar.real)) return ".nan";
  const auto single = static_cast<float>(scalar.real);
  if (std::isinf(single)) return single > 0 ? ".inf" : "-.inf";
  // k8s 1.36: Go's 'g' format of a 32-bit float, with an exponent from 1e6 on and below 1e-4.
  char buffer[64];
  const auto print = [&](std::chars_format form) {
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, single, form).ptr);
  };
  std::string text = print(std::chars_format::scientific);
  int exponent = 0;
  const std::size_t e = text.find('e') + 1;
  std::from_chars(text.data() + e + (text[e] == '+' ? 1 : 0), text.data() + text.size(), exponent);
  return exponent < -4 || exponent >= 6 ? text : print(std::chars_format::fixed);
}

}  // namespace berth::json
