// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/budget_state.h"

namespace berth::scheduler {

void BudgetState::put(const kube::Object& object) {
  const json::Slice status = object.status();
  Budget budget;
  budget.ns = object.ns();
  budget.name = object.name();
  budget.selector = kube::LabelSelector::from_json(object.member("spec")["selector"]);
  budget.disruptions_allowed = status["disruptionsAllowed"].integer().value_or(0);
  for (const auto [name, when] : status["disruptedPods"].members())
    budget.disrupted_pods.emplace(name);
  budgets_.insert_or_assign(object.key().text(), std::move(budget));
}

void BudgetState::remove(const kube::Object& object) { budgets_.erase(object.key().text()); }

}  // namespace berth::scheduler
