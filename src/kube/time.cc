// SPDX-License-Identifier: Apache-2.0
#include "kube/time.h"

#include <limits>

#include <fmt/format.h>

namespace berth::kube {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a text apart from the left; once something did not fit, `ok` stays false.
struct Reader {
  std::string_view rest;
  bool ok = true;

  bool take(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok = take(c) && ok; }
  int number(std::size_t least, std::size_t most, int low, int high) {
    std::size_t n = 0;
    int value = 0;
    for (; n < most && n < rest.size() && is_digit(rest[n]); ++n)
      value = value * 10 + (rest[n] - '0');
    rest.remove_prefix(n);
    ok = ok && n >= least && value >= low && value <= high;
    return value;
  }
};

std::chrono::year_month_day date_of(std::int64_t seconds) {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::sys_seconds(std::chrono::seconds(seconds)));
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::string second_text(std::int64_t seconds) {
  const auto date = date_of(seconds);
  const std::int64_t clock = seconds - floor_div(seconds, 86'400) * 86'400;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock / 3600, clock / 60 % 60, clock % 60);
}

}  // namespace

std::optional<WallTime> parse_time(std::string_view text) {
  Reader in{text};
  const int year = in.number(4, 4, 0, 9999);
  in.expect('-');
  const int month = in.number(2, 2, 1, 12);
  in.expect('-');
  const int day = in.number(2, 2, 1, 31);
  in.expect('T');
  const int hour = in.number(1, 2, 0, 23);  // Go takes one digit here
  in.expect(':');
  const int minute = in.number(2, 2, 0, 59);
  in.expect(':');
  const int second = in.number(2, 2, 0, 59);
  std::int64_t nanos = 0;
  if (in.ok && in.rest.size() > 1 && (in.rest[0] == '.' || in.rest[0] == ',') &&
      is_digit(in.rest[1])) {
    in.rest.remove_prefix(1);
    std::int64_t unit = kBillion / 10;
    for (; !in.rest.empty() && is_digit(in.rest[0]); in.rest.remove_prefix(1), unit /= 10)
      nanos += (in.rest[0] - '0') * unit;
  }
  int offset = 0;
  if (!in.take('Z')) {
    const int sign = in.take('-') ? -1 : 1;
    if (sign == 1) in.expect('+');
    const int hours = in.number(2, 2, 0, 24);
    in.expect(':');
    offset = sign * (hours * 3600 + in.number(2, 2, 0, 60) * 60);
  }
  const std::chrono::year_month_day date(std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)});
  if (!in.ok || !in.rest.empty() || !date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset;
  using Limits = std::numeric_limits<std::int64_t>;
  if (seconds >= Limits::max() / kBillion) return WallTime{Limits::max()};
  if (seconds <= Limits::min() / kBillion) return WallTime{Limits::min()};
  return WallTime{seconds * kBillion + nanos};
}

std::string time_text(WallTime at) { return second_text(floor_div(at.unix_nanos, kBillion)) + "Z"; }

std::string micro_time_text(WallTime at) {
  const std::int64_t seconds = floor_div(at.unix_nanos, kBillion);
  // Not seconds * kBillion: for the least of all times that product would not fit.
  std::int64_t nanos = at.unix_nanos % kBillion;
  if (nanos < 0) nanos += kBillion;
  return fmt::format("{}.{:06}Z", second_text(seconds), nanos / 1000);
}

std::optional<Duration> parse_duration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return Duration(0);
  if (text.empty()) return std::nullopt;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  std::uint64_t total = 0;
  while (!text.empty()) {
    std::uint64_t whole = 0, fraction = 0;
    double scale = 1;
    bool digits = false, full = false;
    for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
      digits = true;
      if (whole > kMost / 10) return std::nullopt;
      whole = whole * 10 + static_cast<std::uint64_t>(text[0] - '0');
      if (whole > kMost) return std::nullopt;
    }
    if (!text.empty() && text[0] == '.') {
      text.remove_prefix(1);
      for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
        digits = true;
        if (full) continue;
        // Digits beyond what 63 bits hold are left out.
        const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(text[0] - '0');
        full = fraction > (kMost - 1) / 10 || next > kMost;
        if (full) continue;
        fraction = next;
        scale *= 10;
      }
    }
    if (!digits) return std::nullopt;
    std::size_t n = 0;
    while (n < text.size() && text[n] != '.' && !is_digit(text[n])) ++n;
    const std::string_view name = text.substr(0, n);
    text.remove_prefix(n);
    std::uint64_t unit = 0;
    if (name == "ns") unit = 1;
    if (name == "us" || name == "\u00b5s" || name == "\u03bcs") unit = 1'000;
    if (name == "ms") unit = 1'000'000;
    if (name == "s") unit = 1'000'000'000;
    if (name == "m") unit = 60'000'000'000;
    if (name == "h") unit = 3'600'000'000'000;
    if (unit == 0 || whole > kMost / unit) return std::nullopt;
    whole *= unit;
    if (fraction > 0) {
      whole += static_cast<std::uint64_t>(static_cast<double>(fraction) *
                                          (static_cast<double>(unit) / scale));
      if (whole > kMost) return std::nullopt;
    }
    total += whole;
    if (total > kMost) return std::nullopt;
  }
  if (negative) return Duration(static_cast<std::int64_t>(-total));
  if (total > kMost - 1) return std::nullopt;
  return Duration(static_cast<std::int64_t>(total));
}

std::string duration_text(Duration duration) {
  const std::int64_t count = duration.count();
  const auto nanos =
      count < 0 ? -static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  if (nanos == 0) return "0s";
  const auto decimal = [](std::uint64_t whole, std::uint64_t part, int digits) {
    std::string out = fmt::format("{}", whole);
    if (part == 0) return out;
    out += fmt::format(".{:0{}}", part, digits);
    out.erase(out.find_last_not_of('0') + 1);
    return out;
  };
  const std::string sign = count < 0 ? "-" : "";
  if (nanos < 1'000) return fmt::format("{}{}ns", sign, nanos);
  if (nanos < 1'000'000) return sign + decimal(nanos / 1'000, nanos % 1'000, 3) + "\u00b5s";
  if (nanos < 1'000'000'000) return sign + decimal(nanos / 1'000'000, nanos % 1'000'000, 6) + "ms";
  const std::uint64_t seconds = nanos / kBillion;
  std::string out = decimal(seconds % 60, nanos % kBillion, 9) + "s";
  if (seconds >= 60) out = fmt::format("{}m{}", seconds / 60 % 60, out);
  if (seconds >= 3600) out = fmt::format("{}h{}", seconds / 3600, out);
  return sign + out;
}

}  // namespace berth::kube
