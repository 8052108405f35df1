// SPDX-License-Identifier: Apache-2.0
// PodDisruptionBudgets, as preemption asks them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "kube/label_selector.h"
#include "kube/object.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

struct Budget {
  std::string ns, name;
  Result<kube::LabelSelector> selector = kube::LabelSelector::nothing();
  std::int64_t disruptions_allowed = 0;
  std::set<std::string, std::less<>> disrupted_pods;  // names
};

// Loop-confined.
class BudgetState {
 public:
  void put(const kube::Object&);
  void remove(const kube::Object&);
  const std::map<std::string, Budget>& all() const { return budgets_; }  // by "ns/name"

 private:
  std::map<std::string, Budget> budgets_;
};

}  // namespace berth::scheduler
