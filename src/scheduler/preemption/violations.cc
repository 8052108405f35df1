// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preemption/violations.h"

#include <algorithm>
#include <map>

namespace berth::scheduler {

namespace {

std::int64_t started(const Pod& pod, WallTime now) {
  return pod.start_time.value_or(now).unix_nanos;
}

}  // namespace

void sort_by_importance(std::vector<PodPtr>& pods, WallTime now) {
  std::stable_sort(pods.begin(), pods.end(), [&](const PodPtr& a, const PodPtr& b) {
    if (a->priority() != b->priority()) return a->priority() > b->priority();
    return started(*a, now) < started(*b, now);
  });
}

std::vector<bool> violations(const std::vector<PodPtr>& pods, const BudgetState& budgets) {
  std::map<const Budget*, std::int64_t> left;
  for (const auto& [key, budget] : budgets.all()) left[&budget] = budget.disruptions_allowed;
  std::vector<bool> violating;
  for (const PodPtr& pod : pods) {
    bool beyond = false;
    for (auto& [budget, allowed] : left) {
      if (pod->labels->empty() || budget->ns != pod->ns || !budget->selector) continue;
      // A selector that selects all is taken to be a mistake.
      if (budget->selector->everything() || !matches(*budget->selector, *pod->labels)) continue;
      if (budget->disrupted_pods.count(pod->name) > 0) continue;  // charged already
      if (--allowed < 0) beyond = true;
    }
    violating.push_back(beyond);
  }
  return violating;
}

}  // namespace berth::scheduler
