// SPDX-License-Identifier: Apache-2.0
// A way to make room for a pod.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/cache/pod.h"

namespace berth::scheduler {

// A node that the pod fits on once these are gone.
struct PreemptionCandidate {
  std::string node;
  std::vector<PodPtr> victims;  // the most important first
  std::int64_t budget_violations = 0;
};

}  // namespace berth::scheduler
