// SPDX-License-Identifier: Apache-2.0
// When a CronJob is due: five fields, a word such as @daily, or "@every 90s".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "kube/time_zone.h"

namespace berth::kube {

// Immutable.
class CronSchedule {
 public:
  static Result<CronSchedule> parse(std::string_view text, TimeZone zone = {});
  // The first time after; nothing where none comes within five years.
  std::optional<WallTime> next(WallTime after) const;

 private:
  bool day_matches(unsigned day, unsigned weekday) const;
  TimeZone zone_;
  Duration every_{};
  std::uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  bool any_day_ = false, any_weekday_ = false;  // then both must match, else one is enough
};

}  // namespace berth::kube
