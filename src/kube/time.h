// SPDX-License-Identifier: Apache-2.0
// Times and durations as they stand in objects: RFC 3339 (metav1.Time, MicroTime) and Go's
// "1h2m3s".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::kube {

// Any offset and fraction, as Go reads them; nullopt when it is no time. What lies beyond the years
// 1678 to 2261 becomes the nearest time that can be told.
std::optional<WallTime> parse_time(std::string_view);
std::string time_text(WallTime);        // "2026-01-02T15:04:05Z"
std::string micro_time_text(WallTime);  // "2026-01-02T15:04:05.000000Z"

// "300ms", "-1.5h", "1h2m3s".
std::optional<Duration> parse_duration(std::string_view);
std::string duration_text(Duration);  // "1h2m3.5s", "0s"

}  // namespace berth::kube
