// SPDX-License-Identifier: Apache-2.0
// What is kept of a job's runs, for whoever wants to ask a metrics server about them: when, where,
// how it went.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/slice.h"

namespace berth::controllers {

inline constexpr std::size_t kRunsKept = 100;

// `events` with one more run at its end; the oldest goes where there are too many. A run that is
// there already stays as it is: closing it again changes nothing.
std::string with_run(json::Slice events, std::int64_t run, std::string_view run_json);

}  // namespace berth::controllers
