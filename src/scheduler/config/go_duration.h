// SPDX-License-Identifier: Apache-2.0
// Durations as Go writes them: "1h15m30.918s".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::scheduler {

// time.ParseDuration; nothing where that fails.
std::optional<Duration> parse_go_duration(std::string_view);
// Duration.String(): "10m0s", "1.5s", "0s".
std::string go_duration(Duration);

}  // namespace berth::scheduler
