// SPDX-License-Identifier: Apache-2.0
// Executors whose application has no place for a priority class get theirs when they are created:
// those of FlinkClusters always, those of Spark where its operator changes no pods. Below ghosts a
// stock scheduler would never make room for them. The same goes for what they request, where a
// scheduler asks about pods that request a slot alone.
#pragma once

#include "policy/admission/reserved.h"
#include "policy/admission/review.h"

namespace berth::admission {

// Of a pod that is created with a grant of its namespace; anything else is let through.
Verdict executor_class(const Review&, const Reserved&);

}  // namespace berth::admission
