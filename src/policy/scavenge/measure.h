// SPDX-License-Identifier: Apache-2.0
// What a job's reports and starts tell: its last checkpoint, what checkpoints and restarts cost it,
// and how long it stays away after an interruption.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "policy/scavenge/cost.h"

namespace berth::scavenge {

inline constexpr Duration kBetweenReports = 10s;

// The checkpoint that a report stands for: not before what is known already, not after the moment
// we saw it, and not sooner than ten seconds after the last one that was taken. nullopt: it is not
// taken. Whoever reports what is not true only becomes cheaper.
std::optional<WallTime> accepted_checkpoint(WallTime reported, WallTime since, WallTime seen,
                                            std::optional<WallTime> last_taken);

// What one checkpoint takes of the program's time: the middle one of the last durations it
// reported, each at most a quarter of the window. nullopt: none was reported.
std::optional<Duration> checkpoint_cost(std::span<const Duration> reported, Duration window);

// What a start costs before it makes progress: from when all members ran to the first checkpoint
// or sign of progress, less the interval at which checkpoints come where that is known. At most a
// quarter of the window, so that a slow start buys no protection.
Duration restart_time(WallTime started, WallTime first_progress, std::optional<Duration> interval,
                      Duration window);
std::int64_t restart_cost(Duration restart_time, std::int64_t rate_milli);  // milli core-seconds

// 30 s after the first interruption, twice as long after each one, 10 min at most.
Duration back_off(std::int64_t interruptions_in_a_row);
// When it may start again. While the pod that it made room for still waits, it does not (nullopt):
// it would only take that room back.
std::optional<WallTime> not_before(WallTime interrupted, std::int64_t interruptions_in_a_row,
                                   bool preemptor_waits);

}  // namespace berth::scavenge
