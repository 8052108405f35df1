// SPDX-License-Identifier: Apache-2.0
// What may help a pod that VolumeBinding refused.
#pragma once

#include <vector>

#include "scheduler/framework/event.h"

namespace berth::scheduler {

std::vector<EventInterest> volume_binding_events();

}  // namespace berth::scheduler
