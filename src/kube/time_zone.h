// SPDX-License-Identifier: Apache-2.0
// Time zones by their IANA names, from the machine's own database: nothing of it is built in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::kube {

// How far clocks somewhere are ahead of UTC, and when that changes. A value; immutable.
class TimeZone {
 public:
  TimeZone() = default;  // UTC
  static TimeZone fixed(Duration ahead);
  static Result<TimeZone> parse(std::string_view tzif);  // RFC 8536, versions 1 to 4

  Duration ahead_at(WallTime) const;
  // What clocks show as `seconds` after 1970-01-01 00:00 there. A time that clocks skip or show
  // twice is taken as Go's time.Date takes it.
  std::int64_t from_local(std::int64_t seconds) const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;  // null: UTC
};

// "Europe/Berlin", as Go's time.LoadLocation finds it; "" is UTC. NotFound: there is no such zone.
// ServiceUnavailable: there may be, but this machine has no database. UTC, GMT and Etc/GMT±n need
// none.
Result<TimeZone> time_zone(std::string_view name,
                           const std::filesystem::path& database = "/usr/share/zoneinfo");

}  // namespace berth::kube
