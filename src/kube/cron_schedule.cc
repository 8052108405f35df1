// SPDX-License-Identifier: Apache-2.0
#include "kube/cron_schedule.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/lower.h"
#include "kube/label_selector.h"
#include "kube/time.h"

namespace berth::kube {
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
  const std::string word = lower(text);
  for (std::size_t i = 0; i < bounds.names.size(); ++i)
    if (bounds.names[i] == word) return static_cast<std::int64_t>(i) + bounds.least;
  const auto number = parse_decimal(text);
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

Result<CronSchedule> CronSchedule::parse(std::string_view text, TimeZone zone) {
  if (text.empty()) return invalid("empty spec string");
  CronSchedule out;
  out.zone_ = std::move(zone);
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t space = text.find(' ');
    if (space == text.npos) return invalid("invalid schedule format");
    const std::string_view name = text.substr(prefix.size(), space - prefix.size());
    auto known = time_zone(name);
    if (!known)
      return invalid(fmt::format("provided bad location {}: {}", name, known.error().message));
    out.zone_ = *std::move(known);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n", space), text.size()));
    text = text.substr(0, text.find_last_not_of(" \t\n") + 1);
    break;
  }
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    const std::string_view how_long = text.substr(kEvery.size());
    const auto every = parse_duration(how_long);
    if (!every)
      return invalid(fmt::format("failed to parse duration {}: time: invalid duration \"{}\"", text,
                                 how_long));
    // Whole seconds, and at least one.
    out.every_ = std::max<Duration>(std::chrono::floor<std::chrono::seconds>(*every), 1s);
    return out;
  }
  std::vector<std::string_view> fields = words(text);
  if (text.starts_with('@')) {
    const std::string_view meant = spelled_out(text);
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

bool CronSchedule::day_matches(unsigned day, unsigned weekday) const {
  const bool of_month = (days_ >> day & 1) != 0, of_week = (weekdays_ >> weekday & 1) != 0;
  return any_day_ || any_weekday_ ? of_month && of_week : of_month || of_week;
}

// k8s 1.36: step by step as robfig/cron goes, for what it does where clocks change: an hour that is
// skipped is not made up for, and one that comes twice counts twice for schedules that name no
// hour.
std::optional<WallTime> CronSchedule::next(WallTime after) const {
  using namespace std::chrono;  // NOLINT: calendars are all over this
  const sys_seconds since = floor<seconds>(sys_time<nanoseconds>(nanoseconds(after.unix_nanos)));
  const auto answer = [](sys_seconds t) {
    return WallTime{duration_cast<nanoseconds>(t.time_since_epoch()).count()};
  };
  if (every_ > Duration{}) return answer(since + duration_cast<seconds>(every_));
  const auto shown = [&](sys_seconds t) {  // by clocks there
    return t + duration_cast<seconds>(zone_.ahead_at(answer(t)));
  };
  const auto when_shown = [&](sys_seconds local) {
    return sys_seconds(seconds(zone_.from_local(local.time_since_epoch().count())));
  };
  sys_seconds at = since + 1s;
  const auto limit = year_month_day(floor<days>(shown(at))).year() + years(5);
  bool whole_hour = false;  // it has been moved to one
  while (true) {
    const sys_seconds local = shown(at);
    const sys_days day = floor<days>(local);
    const year_month_day date{day};
    const hh_mm_ss clock{local - day};
    if (date.year() > limit) return std::nullopt;
    if ((months_ >> static_cast<unsigned>(date.month()) & 1) == 0) {
      at = when_shown(sys_days{(date.year() / date.month() / 1) + months(1)});
      whole_hour = true;
    } else if (!day_matches(static_cast<unsigned>(date.day()), weekday{day}.c_encoding())) {
      at = when_shown(day + days(1));
      whole_hour = true;
      // Where there is no midnight that day.
      if (const auto hour = floor<hours>(shown(at) - floor<days>(shown(at))); hour > 12h)
        at += days(1) - hour;
      else
        at -= hour;
    } else if ((hours_ >> clock.hours().count() & 1) == 0) {
      if (!whole_hour) at = when_shown(day + clock.hours());
      whole_hour = true;
      at += 1h;
    } else if ((minutes_ >> clock.minutes().count() & 1) == 0 || clock.seconds() != 0s) {
      at = floor<minutes>(at) + 1min;
    } else {
      return answer(at);
    }
  }
}

}  // namespace berth::kube
