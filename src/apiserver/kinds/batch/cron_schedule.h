// SPDX-License-Identifier: Apache-2.0
// When a CronJob runs: whether its schedule can be read.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

// "" when it is good: five fields, or a word such as @daily or "@every 5m".
std::string check_schedule(std::string_view);
// By its form: "Europe/Berlin", "UTC". The server has no database of zones.
bool is_time_zone(std::string_view);

}  // namespace berth::apiserver
