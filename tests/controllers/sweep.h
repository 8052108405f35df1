// SPDX-License-Identifier: Apache-2.0
// The crash sweep: a scenario is played once without trouble, then once for each of the
// controllers' writes and each moment around it, with the process killed there and started again.
// Whatever the place, the end must be the same.
#pragma once

#include <functional>

#include "lab.h"

namespace berth::controllers::stories {

struct Scenario {
  Controllers controllers;
  // Acts as users do, with lab.run() in between, long enough to get over a restart.
  std::function<void(Lab&)> play;
  std::vector<KindId> kinds = {};  // that the server has; none: whatever it is asked for
};

// All places under BERTH_SWEEP=all, otherwise a tenth of them (but at least three), drawn by
// BERTH_SEED or 1. Fails the running test, naming the place.
void crash_sweep(const Scenario&);

// The same scenario over a wire on which requests and answers are lost and watches lag, break and
// repeat themselves for as long as it is played; then the wire is mended and the end must be the
// same as without. For as many seeds as BERTH_SEEDS says, or six.
void fault_sweep(const Scenario&);

}  // namespace berth::controllers::stories
