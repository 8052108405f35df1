// SPDX-License-Identifier: Apache-2.0
// After which events a pod that did not fit may fit.
#pragma once

#include <vector>

#include "scheduler/framework/event.h"

namespace berth::scheduler {

std::vector<EventInterest> fit_events();

}  // namespace berth::scheduler
