// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/go_duration.h"

#include <array>

#include <fmt/format.h>

namespace berth::scheduler {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanos;
};
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\u00b5s", 1'000},
                                         {"\u03bcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};
constexpr std::uint64_t kMost = std::uint64_t{1} << 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits at the front; nothing when they exceed 2^63.
std::optional<std::uint64_t> whole(std::string_view& rest) {
  std::uint64_t value = 0;
  while (!rest.empty() && is_digit(rest[0])) {
    if (value > kMost / 10) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(rest[0] - '0');
    if (value > kMost) return std::nullopt;
    rest.remove_prefix(1);
  }
  return value;
}

struct Fraction {
  std::uint64_t value = 0;
  double scale = 1;
};
Fraction fraction(std::string_view& rest) {
  Fraction out;
  bool full = false;  // further digits no longer fit
  while (!rest.empty() && is_digit(rest[0])) {
    const std::uint64_t next = out.value * 10 + static_cast<std::uint64_t>(rest[0] - '0');
    full = full || out.value > (kMost - 1) / 10 || next > kMost;
    if (!full) {
      out.value = next;
      out.scale *= 10;
    }
    rest.remove_prefix(1);
  }
  return out;
}

const Unit* unit(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
  for (const Unit& known : kUnits)
    if (rest.substr(0, length) == known.name) {
      rest.remove_prefix(length);
      return &known;
    }
  return nullptr;
}

}  // namespace

std::optional<Duration> parse_go_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration{};
  if (rest.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    const std::optional<std::uint64_t> value = whole(rest);
    if (!value) return std::nullopt;
    bool digits = rest.size() != before;
    Fraction behind;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      const std::size_t point = rest.size();
      behind = fraction(rest);
      digits = digits || rest.size() != point;
    }
    if (!digits) return std::nullopt;
    const Unit* const in = unit(rest);
    if (in == nullptr || *value > kMost / in->nanos) return std::nullopt;
    const auto part = static_cast<std::uint64_t>(static_cast<double>(behind.value) *
                                                 (static_cast<double>(in->nanos) / behind.scale));
    sum += *value * in->nanos + part;
    if (sum > kMost) return std::nullopt;
  }
  if (negative) return Duration(static_cast<std::int64_t>(~sum + 1));
  if (sum == kMost) return std::nullopt;
  return Duration(static_cast<std::int64_t>(sum));
}

std::string go_duration(Duration duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const std::string sign = count < 0 ? "-" : "";
  const std::uint64_t nanos =
      count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  // A number of `unit`s with the digits behind the point that are needed.
  const auto decimal = [](std::uint64_t value, std::uint64_t unit, int digits) {
    std::string out = fmt::format("{}", value / unit);
    if (value % unit == 0) return out;
    out += fmt::format(".{:0{}}", value % unit, digits);
    return out.substr(0, out.find_last_not_of('0') + 1);
  };
  if (nanos < 1'000) return fmt::format("{}{}ns", sign, nanos);
  if (nanos < 1'000'000) return sign + decimal(nanos, 1'000, 3) + "\u00b5s";
  if (nanos < 1'000'000'000) return sign + decimal(nanos, 1'000'000, 6) + "ms";
  const std::uint64_t minutes = nanos / 60'000'000'000;
  const std::string seconds = decimal(nanos % 60'000'000'000, 1'000'000'000, 9);
  if (minutes == 0) return fmt::format("{}{}s", sign, seconds);
  if (minutes < 60) return fmt::format("{}{}m{}s", sign, minutes, seconds);
  return fmt::format("{}{}h{}m{}s", sign, minutes / 60, minutes % 60, seconds);
}

}  // namespace berth::scheduler
