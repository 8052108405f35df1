// SPDX-License-Identifier: Apache-2.0
// Which features a pod needs its node to have declared, as Kubernetes 1.36 infers them from a spec
// when it schedules. Its other declared features matter to updates only.
#pragma once

#include <string>
#include <vector>

#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {

std::vector<std::string> needed_features(const PodFields&);  // sorted

}  // namespace berth::scheduler
