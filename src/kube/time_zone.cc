// SPDX-License-Identifier: Apache-2.0
#include "kube/time_zone.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace berth::kube {
namespace {

constexpr std::int64_t kHour = 3600, kDay = 24 * kHour;
constexpr std::size_t kLongestFile = 1 << 20;

// A day of each year on which clocks change, and at what time of that day.
struct YearlyDay {
  enum class Form : std::uint8_t { kJulian, kZeroBased, kWeekday } form = Form::kWeekday;
  int day = 0, week = 0, month = 0;
  std::int64_t time = 2 * kHour;

  // Seconds since 1970 as clocks show them before the change.
  std::int64_t in(int in_year) const {
    using namespace std::chrono;  // NOLINT: calendars are all over this
    const year y{in_year};
    sys_days at = y / January / 1;
    if (form == Form::kJulian) {  // February 29th is never counted
      at += days(day - 1);
      if (y.is_leap() && day >= 60) at += days(1);
    } else if (form == Form::kZeroBased) {
      at += days(day);
    } else {
      const std::chrono::month m{static_cast<unsigned>(month)};
      const weekday wanted{static_cast<unsigned>(day)};
      at = week == 5 ? sys_days(y / m / wanted[last])
                     : sys_days(y / m / wanted[static_cast<unsigned>(week)]);
    }
    return at.time_since_epoch().count() * kDay + time;
  }
};

// What holds after the last change that a file lists: "CET-1CEST,M3.5.0,M10.5.0/3".
struct Yearly {
  std::int64_t standard = 0, summer = 0;  // ahead of UTC
  bool changes = false;
  YearlyDay begin = {}, end = {};

  std::int64_t ahead_at(std::int64_t at) const {
    using namespace std::chrono;  // NOLINT: calendars are all over this
    if (!changes) return standard;
    // k8s 1.36: by the year in UTC, as Go has it.
    const int in_year =
        static_cast<int>(year_month_day(floor<days>(sys_seconds(seconds(at)))).year());
    const std::int64_t from = begin.in(in_year)-standard, to = end.in(in_year)-summer;
    const bool in_summer = from < to ? at >= from && at < to : at >= from || at < to;
    return in_summer ? summer : standard;
  }
};

class YearlyReader {
 public:
  explicit YearlyReader(std::string_view text) : rest_(text) {}

  std::optional<Yearly> read() {
    Yearly out;
    std::int64_t west = 0;
    if (!name() || !time(west, 24)) return std::nullopt;
    out.standard = out.summer = -west;
    if (rest_.empty()) return out;
    out.changes = true;
    out.summer = out.standard + kHour;
    if (!name()) return std::nullopt;
    if (!rest_.empty() && rest_.front() != ',') {
      if (!time(west, 24)) return std::nullopt;
      out.summer = -west;
    }
    if (!day(out.begin) || !day(out.end) || !rest_.empty()) return std::nullopt;
    return out;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(int least, int most, int& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < least || value > most) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool name() {
    const bool quoted = take('<');
    std::size_t length = 0;
    while (length < rest_.size() &&
           (quoted ? rest_[length] != '>'
                   : (rest_[length] | 0x20) >= 'a' && (rest_[length] | 0x20) <= 'z'))
      ++length;
    rest_.remove_prefix(length);
    return length >= 3 && (!quoted || take('>'));
  }
  // [+-]h[h][:mm[:ss]]
  bool time(std::int64_t& seconds, int most_hours) {
    const bool minus = take('-');
    if (!minus) take('+');
    int hours = 0, minutes = 0, more = 0;
    if (!number(0, most_hours, hours)) return false;
    if (take(':')) {
      if (!number(0, 59, minutes)) return false;
      if (take(':') && !number(0, 59, more)) return false;
    }
    seconds = hours * kHour + minutes * 60 + more;
    if (minus) seconds = -seconds;
    return true;
  }
  bool day(YearlyDay& out) {
    if (!take(',')) return false;
    if (take('M')) {
      if (!number(1, 12, out.month) || !take('.') || !number(1, 5, out.week) || !take('.') ||
          !number(0, 6, out.day))
        return false;
    } else if (take('J')) {
      out.form = YearlyDay::Form::kJulian;
      if (!number(1, 365, out.day)) return false;
    } else {
      out.form = YearlyDay::Form::kZeroBased;
      if (!number(0, 365, out.day)) return false;
    }
    return !take('/') || time(out.time, 167);
  }

  std::string_view rest_;
};

// Big-endian numbers from the front.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  bool has(std::size_t count) const { return rest_.size() >= count; }
  std::string_view take(std::size_t count) {
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  std::int64_t number(std::size_t width) {
    std::uint64_t value = 0;
    for (const char c : take(width)) value = value << 8 | static_cast<unsigned char>(c);
    return width == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value))
                      : static_cast<std::int64_t>(value);
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  char version = 0;
  std::size_t in_utc = 0, in_standard = 0, leaps = 0, times = 0, types = 0, letters = 0;
  std::size_t size(std::size_t width) const {
    return times * (width + 1) + types * 6 + letters + leaps * (width + 4) + in_standard + in_utc;
  }
};

std::optional<Header> read_header(Bytes& bytes) {
  if (!bytes.has(44) || bytes.take(4) != "TZif") return std::nullopt;
  Header out;
  out.version = bytes.take(1).front();
  bytes.take(15);
  for (std::size_t* count :
       {&out.in_utc, &out.in_standard, &out.leaps, &out.times, &out.types, &out.letters}) {
    const std::int64_t read = bytes.number(4);
    if (read < 0 || static_cast<std::size_t>(read) > kLongestFile) return std::nullopt;
    *count = static_cast<std::size_t>(read);
  }
  return out;
}

tl::unexpected<Error> malformed() { return invalid("malformed time zone information"); }

// Zones whose name says all.
std::optional<Duration> told_by_name(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "Etc/UTC" || name == "GMT" || name == "Etc/GMT")
    return Duration{};
  constexpr std::string_view kEtc = "Etc/GMT";
  if (!name.starts_with(kEtc) || name.size() < kEtc.size() + 2) return std::nullopt;
  const char sign = name[kEtc.size()];
  const std::string_view digits = name.substr(kEtc.size() + 1);
  int hours = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), hours);
  if ((sign != '+' && sign != '-') || error != std::errc() ||
      end != digits.data() + digits.size() || hours < 0 || hours > (sign == '-' ? 14 : 12) ||
      (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  // As POSIX counts them: Etc/GMT+5 is west.
  return std::chrono::hours(sign == '+' ? -hours : hours);
}

}  // namespace

struct TimeZone::Rules {
  struct Change {
    std::int64_t at = 0, ahead = 0;
  };
  std::vector<Change> changes = {};  // in their order
  std::int64_t before = 0;           // the first of them
  std::optional<Yearly> after = {};  // the last of them

  std::int64_t ahead_at(std::int64_t at) const {
    const auto next = std::upper_bound(changes.begin(), changes.end(), at,
                                       [](std::int64_t t, const Change& c) { return t < c.at; });
    if (next == changes.end() && after) return after->ahead_at(at);
    return next == changes.begin() ? before : std::prev(next)->ahead;
  }
};

TimeZone TimeZone::fixed(Duration ahead) {
  TimeZone out;
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(ahead).count();
  if (seconds != 0) out.rules_ = std::make_shared<const Rules>(Rules{.before = seconds});
  return out;
}

Result<TimeZone> TimeZone::parse(std::string_view tzif) {
  Bytes bytes(tzif);
  std::optional<Header> header = read_header(bytes);
  if (!header || !bytes.has(header->size(4))) return malformed();
  std::size_t width = 4;
  if (header->version >= '2') {  // the same again, with wide numbers
    bytes.take(header->size(4));
    width = 8;
    header = read_header(bytes);
    if (!header || !bytes.has(header->size(8))) return malformed();
  }
  Rules rules;
  for (std::size_t i = 0; i < header->times; ++i)
    rules.changes.push_back({.at = bytes.number(width)});
  const std::string_view kinds = bytes.take(header->times);
  struct Type {
    std::int64_t ahead;
    bool summer;
  };
  std::vector<Type> types;
  for (std::size_t i = 0; i < header->types; ++i) {
    const std::int64_t ahead = bytes.number(4);
    types.push_back({ahead, bytes.take(2).front() != 0});
  }
  if (types.empty()) return malformed();
  for (std::size_t i = 0; i < header->times; ++i) {
    const auto type = static_cast<unsigned char>(kinds[i]);
    if (type >= types.size() || (i > 0 && rules.changes[i].at <= rules.changes[i - 1].at))
      return malformed();
    rules.changes[i].ahead = types[type].ahead;
  }
  const auto standard =
      std::find_if(types.begin(), types.end(), [](const Type& type) { return !type.summer; });
  const bool first_is_used = kinds.find('\0') != kinds.npos;
  rules.before = !first_is_used || standard == types.end() ? types[0].ahead : standard->ahead;
  bytes.take(header->letters + header->leaps * (width + 4) + header->in_standard + header->in_utc);
  if (std::string_view footer = bytes.rest(); width == 8 && footer.size() > 2) {
    if (footer.front() != '\n' || footer.back() != '\n') return malformed();
    rules.after = YearlyReader(footer.substr(1, footer.size() - 2)).read();
    if (!rules.after) return malformed();
  }
  TimeZone out;
  out.rules_ = std::make_shared<const Rules>(std::move(rules));
  return out;
}

Duration TimeZone::ahead_at(WallTime at) const {
  if (rules_ == nullptr) return {};
  using namespace std::chrono;  // NOLINT: calendars are all over this
  return seconds(rules_->ahead_at(floor<seconds>(nanoseconds(at.unix_nanos)).count()));
}

std::int64_t TimeZone::from_local(std::int64_t seconds) const {
  if (rules_ == nullptr) return seconds;
  std::int64_t ahead = rules_->ahead_at(seconds);
  if (ahead != 0) ahead = rules_->ahead_at(seconds - ahead);
  return seconds - ahead;
}

Result<TimeZone> time_zone(std::string_view name, const std::filesystem::path& database) {
  const auto unknown = [&](Reason reason, std::string_view why) {
    return fail(reason, fmt::format("unknown time zone {}{}", name, why));
  };
  if (name.empty() || name == "UTC") return TimeZone();
  if (name.find("..") != name.npos || name.front() == '/' || name.front() == '\\')
    return fail(Reason::kNotFound, "time: invalid location name");
  std::error_code failed;
  if (!std::filesystem::is_directory(database, failed)) {
    if (const auto ahead = told_by_name(name)) return TimeZone::fixed(*ahead);
    return unknown(Reason::kServiceUnavailable,
                   " (there is no time zone database here: install tzdata)");
  }
  const std::filesystem::path path = database / name;
  if (std::filesystem::is_directory(path, failed)) return fail(Reason::kNotFound, "is a directory");
  if (!std::filesystem::is_regular_file(path, failed)) return unknown(Reason::kNotFound, "");
  std::ifstream in(path, std::ios::binary);
  std::string bytes(kLongestFile, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  Result<TimeZone> zone = TimeZone::parse(bytes);
  if (!zone)
    return tl::unexpected(Error{.reason = Reason::kNotFound, .message = zone.error().message});
  return zone;
}

}  // namespace berth::kube
