// SPDX-License-Identifier: Apache-2.0
// How kube-scheduler orders possible victims, and which of them go beyond a budget.
#pragma once

#include <vector>

#include "base/time.h"
#include "scheduler/cache/budget_state.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

// Higher priority first, then who has run longer; `now` is the start of who has none.
void sort_by_importance(std::vector<PodPtr>&, WallTime now);

// Which of these, evicted in this order, would go beyond a budget. Every budget that a pod falls
// under is charged, also once one is exhausted.
std::vector<bool> violations(const std::vector<PodPtr>&, const BudgetState&);

}  // namespace berth::scheduler
