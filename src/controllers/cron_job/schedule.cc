// SPDX-License-Identifier: Apache-2.0
#include "controllers/cron_job/schedule.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kube/label_selector.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

struct Bounds {
  std::int64_t least, most;
  std::vector<std::string_view> names = {};
};
const Bounds kMinutes{0, 59}, kHours{0, 23}, kDays{1, 31},
    kMonths{1,
            12,
            {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
    kWeekdays{0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};

Result<std::int64_t> value_of(std::string_view text, const Bounds& bounds) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (std::size_t i = 0; i < bounds.names.size(); ++i)
    if (bounds.names[i] == word) return static_cast<std::int64_t>(i) + bounds.least;
  const auto number = kube::parse_decimal(text);
  if (!number)
    return invalid(fmt::format(
        "failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax", text, text));
  if (*number < 0)
    return invalid(fmt::format("negative number ({}) not allowed: {}", *number, text));
  return *number;
}

struct Field {
  std::uint64_t bits = 0;
  bool any = false;
};

Result<Ok> add_range(std::string_view text, const Bounds& bounds, Field& field) {
  if (std::count(text.begin(), text.end(), '/') > 1)
    return invalid(fmt::format("too many slashes: {}", text));
  const std::size_t slash = text.find('/');
  const std::string_view range = text.substr(0, slash);
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  std::int64_t start = bounds.least, end = bounds.most, step = 1;
  const bool star = low == "*" || low == "?";
  if (!star) {
    const auto first = value_of(low, bounds);
    if (!first) return tl::unexpected(first.error());
    start = end = *first;
    if (dash != range.npos) {
      const std::string_view high = range.substr(dash + 1);
      if (high.find('-') != high.npos) return invalid(fmt::format("too many hyphens: {}", text));
      const auto last = value_of(high, bounds);
      if (!last) return tl::unexpected(last.error());
      end = *last;
    }
  }
  if (slash != text.npos) {
    const auto given = value_of(text.substr(slash + 1), {0, 0});
    if (!given) return tl::unexpected(given.error());
    step = *given;
    if (dash == range.npos) end = bounds.most;
  }
  if (start < bounds.least)
    return invalid(
        fmt::format("beginning of range ({}) below minimum ({}): {}", start, bounds.least, text));
  if (end > bounds.most)
    return invalid(fmt::format("end of range ({}) above maximum ({}): {}", end, bounds.most, text));
  if (start > end)
    return invalid(
        fmt::format("beginning of range ({}) beyond end of range ({}): {}", start, end, text));
  if (step == 0) return invalid(fmt::format("step of range should be a positive number: {}", text));
  for (std::int64_t i = start; i <= end; i += step) field.bits |= std::uint64_t{1} << i;
  field.any |= star && step == 1;
  return Ok{};
}

Result<Field> read_field(std::string_view text, const Bounds& bounds) {
  Field field;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (one.empty()) continue;
    if (const auto added = add_range(one, bounds, field); !added)
      return tl::unexpected(added.error());
  }
  return field;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    if (text.empty()) return out;
    const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string_view spelled_out(std::string_view word) {
  if (word == "@yearly" || word == "@annually") return "0 0 1 1 *";
  if (word == "@monthly") return "0 0 1 * *";
  if (word == "@weekly") return "0 0 * * 0";
  if (word == "@daily" || word == "@midnight") return "0 0 * * *";
  if (word == "@hourly") return "0 * * * *";
  return "";
}

}  // namespace

std::optional<Duration> zone_offset(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "Etc/UTC" || name == "GMT" || name == "Etc/GMT")
    return Duration{};
  constexpr std::string_view kEtc = "Etc/GMT";
  if (!name.starts_with(kEtc)) return std::nullopt;
  const std::string_view rest = name.substr(kEtc.size());
  const auto hours = kube::parse_decimal(rest.substr(1));
  if ((rest[0] != '+' && rest[0] != '-') || !hours || *hours < 0 || *hours > 14)
    return std::nullopt;
  // As POSIX counts them: Etc/GMT+5 is west.
  return std::chrono::hours(rest[0] == '+' ? -*hours : *hours);
}

Result<Schedule> Schedule::parse(std::string_view text, Duration offset) {
  Schedule out;
  out.offset_ = offset;
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view zone = text.substr(prefix.size(), space - prefix.size());
    const auto known = zone_offset(zone);
    if (!known)
      return invalid(fmt::format("provided bad location {}: unknown time zone {}", zone, zone));
    out.offset_ = *known;
    text.remove_prefix(space);
  }
  std::vector<std::string_view> fields = words(text);
  if (text.empty() || fields.empty()) return invalid("empty spec string");
  if (fields[0] == "@every" && fields.size() == 2) {
    const auto every = kube::parse_duration(fields[1]);
    if (!every)
      return invalid(fmt::format("failed to parse duration {}: time: invalid duration \"{}\"", text,
                                 fields[1]));
    // Whole seconds, and at least one.
    out.every_ = std::max<Duration>(std::chrono::floor<std::chrono::seconds>(*every), 1s);
    return out;
  }
  if (fields[0].starts_with('@')) {
    const std::string_view meant = spelled_out(fields[0]);
    if (meant.empty()) return invalid(fmt::format("unrecognized descriptor: {}", text));
    fields = words(meant);
  }
  if (fields.size() != 5)
    return invalid(fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                               fmt::join(fields, " ")));
  const Bounds* bounds[] = {&kMinutes, &kHours, &kDays, &kMonths, &kWeekdays};
  std::uint64_t* bits[] = {&out.minutes_, &out.hours_, &out.days_, &out.months_, &out.weekdays_};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto field = read_field(fields[i], *bounds[i]);
    if (!field) return tl::unexpected(field.error());
    *bits[i] = field->bits;
    if (i == 2) out.any_day_ = field->any;
    if (i == 4) out.any_weekday_ = field->any;
  }
  return out;
}

bool Schedule::day_matches(unsigned day, unsigned weekday) const {
  const bool of_month = (days_ >> day & 1) != 0, of_week = (weekdays_ >> weekday & 1) != 0;
  return any_day_ || any_weekday_ ? of_month && of_week : of_month || of_week;
}

std::optional<WallTime> Schedule::next(WallTime after) const {
  using namespace std::chrono;  // NOLINT: calendars are all over this
  const sys_time<nanoseconds> here{nanoseconds(after.unix_nanos) + offset_};
  const auto answer = [this](sys_seconds t) {
    return WallTime{duration_cast<nanoseconds>(t.time_since_epoch() - offset_).count()};
  };
  if (every_ > Duration{}) return answer(floor<seconds>(here) + duration_cast<seconds>(every_));
  // The next whole minute, then the first that matches.
  sys_time<minutes> at = floor<minutes>(floor<seconds>(here) + 1s + 59s);
  const year_month_day first{floor<days>(at)};
  const auto limit = first.year() + years(5);
  while (true) {
    const sys_days day = floor<days>(at);
    const year_month_day date{day};
    if (date.year() > limit) return std::nullopt;
    if ((months_ >> static_cast<unsigned>(date.month()) & 1) == 0) {
      at = sys_days{(date.year() / date.month() / 1) + months(1)};
      continue;
    }
    if (!day_matches(static_cast<unsigned>(date.day()), weekday{day}.c_encoding())) {
      at = day + days(1);
      continue;
    }
    const auto hour = floor<hours>(at - day);
    if ((hours_ >> hour.count() & 1) == 0) {
      at = day + hour + hours(1);
      continue;
    }
    if ((minutes_ >> (at - day - hour).count() & 1) == 0) {
      at += minutes(1);
      continue;
    }
    return answer(at);
  }
}

}  // namespace berth::controllers
