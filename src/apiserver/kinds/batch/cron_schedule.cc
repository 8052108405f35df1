// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/batch/cron_schedule.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "apiserver/kinds/rules.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

struct Bounds {
  int least, most;
  std::vector<std::string_view> names;
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// A number or a name; the complaint otherwise.
std::string read_value(std::string_view text, const Bounds& bounds, int& value) {
  const std::string word = lower(text);
  for (std::size_t i = 0; i < bounds.names.size(); ++i)
    if (bounds.names[i] == word) {
      value = static_cast<int>(i) + bounds.least;
      return "";
    }
  const std::optional<int> read = number(text);
  if (!read)
    return fmt::format("failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax",
                       text, text);
  if (*read < 0) return fmt::format("negative number ({}) not allowed: {}", *read, text);
  value = *read;
  return "";
}

std::string check_range(std::string_view text, const Bounds& bounds) {
  const std::size_t slash = text.find('/');
  const std::string_view range = text.substr(0, slash);
  const std::size_t dash = range.find('-');
  int start = bounds.least, end = bounds.most, step = 1;
  if (std::count(text.begin(), text.end(), '/') > 1)
    return fmt::format("too many slashes: {}", text);
  if (const std::string_view low = range.substr(0, dash); low != "*" && low != "?") {
    if (std::string why = read_value(low, bounds, start); !why.empty()) return why;
    end = start;
    if (dash != std::string_view::npos) {
      const std::string_view high = range.substr(dash + 1);
      if (high.find('-') != std::string_view::npos)
        return fmt::format("too many hyphens: {}", text);
      if (std::string why = read_value(high, bounds, end); !why.empty()) return why;
    } else if (slash != std::string_view::npos) {
      end = bounds.most;
    }
  }
  if (slash != std::string_view::npos)
    if (std::string why = read_value(text.substr(slash + 1), {0, 0, {}}, step); !why.empty())
      return why;
  if (start < bounds.least)
    return fmt::format("beginning of range ({}) below minimum ({}): {}", start, bounds.least, text);
  if (end > bounds.most)
    return fmt::format("end of range ({}) above maximum ({}): {}", end, bounds.most, text);
  if (start > end)
    return fmt::format("beginning of range ({}) beyond end of range ({}): {}", start, end, text);
  if (step == 0) return fmt::format("step of range should be a positive number: {}", text);
  return "";
}

std::string check_field(std::string_view field, const Bounds& bounds) {
  while (true) {
    const std::size_t comma = field.find(',');
    if (std::string why = check_range(field.substr(0, comma), bounds); !why.empty()) return why;
    if (comma == std::string_view::npos) return "";
    field.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string check_schedule(std::string_view schedule) {
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="})
    if (schedule.starts_with(prefix)) {
      const std::size_t space = schedule.find(' ');
      if (space == std::string_view::npos) return "invalid schedule format";
      schedule.remove_prefix(space + 1);
    }
  while (schedule.starts_with(' ')) schedule.remove_prefix(1);
  if (schedule.starts_with('@')) {
    if (one_of(schedule,
               {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}))
      return "";
    constexpr std::string_view kEvery = "@every ";
    if (schedule.starts_with(kEvery)) {
      const std::string_view text = schedule.substr(kEvery.size());
      if (kube::parse_duration(text)) return "";
      return fmt::format("failed to parse duration {}: time: invalid duration \"{}\"", schedule,
                         text);
    }
    return fmt::format("unrecognized descriptor: {}", schedule);
  }
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at < schedule.size();) {
    const std::size_t from = schedule.find_first_not_of(" \t\n", at);
    if (from == std::string_view::npos) break;
    const std::size_t to = std::min(schedule.find_first_of(" \t\n", from), schedule.size());
    fields.push_back(schedule.substr(from, to - from));
    at = to;
  }
  if (fields.size() != 5)
    return fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                       fmt::join(fields, " "));
  const Bounds bounds[] = {
      {0, 59, {}},
      {0, 23, {}},
      {1, 31, {}},
      {1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
      {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}};
  for (std::size_t i = 0; i < 5; ++i)
    if (std::string why = check_field(fields[i], bounds[i]); !why.empty()) return why;
  return "";
}

bool is_time_zone(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/') return false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i == name.size() || name[i] == '/') {
      const std::string_view part = name.substr(start, i - start);
      if (part.empty() || part.size() > 14 || part.front() == '-' || part == "." || part == "..")
        return false;
      start = i + 1;
      continue;
    }
    const char c = name[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          c == '-' || c == '+' || c == '.'))
      return false;
  }
  return name == "UTC" || name == "GMT" || name.find('/') != std::string_view::npos ||
         name.size() == 3;
}

}  // namespace berth::apiserver
