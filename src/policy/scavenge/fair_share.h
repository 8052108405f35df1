// SPDX-License-Identifier: Apache-2.0
// What each user has had of the capacity that others left, with old use counting less and less.
#pragma once

#include <map>
#include <string>

#include "base/time.h"

namespace berth::scavenge {

struct FairShareRules {
  Duration half_life = 24h;                    // 0: nothing is forgotten
  std::map<std::string, double> weights = {};  // by user; absent: 1
};

// Core-hours by user, as of one moment. A value: it stands in a status and is read back from there,
// so that a restart forgets nothing.
struct FairShares {
  WallTime as_of = {};
  std::map<std::string, double> core_hours = {};
};

// Moves to `now`: what was used before counts for less, and each user's running jobs (thousandths
// of cores, as of CostBasis::rate_milli) have run since. Use in the time between counts for less
// too, the earlier the less, so the result does not depend on how often this is called. Time that
// goes backwards changes nothing. Users whose use has become next to nothing are dropped.
FairShares advance(FairShares, const std::map<std::string, std::int64_t>& running_rates,
                   WallTime now, const FairShareRules&);

// Use by weight: what `admit` takes. Weights that are not positive are taken for the smallest.
std::map<std::string, double> by_weight(const FairShares&, const FairShareRules&);

}  // namespace berth::scavenge
