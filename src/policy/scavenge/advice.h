// SPDX-License-Identifier: Apache-2.0
// How often a job should checkpoint, by Young and Daly.
#pragma once

#include <optional>
#include <span>

#include "base/time.h"

namespace berth::scavenge {

// sqrt(2 C M) in Daly's refinement: C is what a checkpoint costs, M the mean time between
// interruptions. At least C, at most M. nullopt while either is not known (0).
std::optional<Duration> advised_interval(Duration checkpoint_cost, Duration between_interruptions);
// Share of the time that is lost to checkpoints and to work done again: C / tau + tau / 2M.
double waste(Duration interval, Duration checkpoint_cost, Duration between_interruptions);
// Of the last runs that ended in an interruption: their mean, over the last 30 at most.
std::optional<Duration> mean_between(std::span<const Duration> runs_that_were_interrupted);

}  // namespace berth::scavenge
