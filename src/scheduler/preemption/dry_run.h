// SPDX-License-Identifier: Apache-2.0
// Whom to evict so that a pod fits: every candidate node with the fewest, least important victims,
// and the node that costs least. Pure: nothing is evicted here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/preemption_candidate.h"
#include "scheduler/framework/profile.h"

namespace berth::scavenge {
class Board;
}

namespace berth::scheduler {

struct LostWork;  // lost_work.h

struct PreemptionQuestion {
  const Profile& profile;
  const Cycle& cycle;  // of the attempt that failed
  const Diagnosis& diagnosis;
  const NominatedPods* nominated = nullptr;
  const Pod* preemptor = nullptr;  // as last seen; null: the cycle's
  WallTime now = {};               // when pods without a start time are taken to have started
  DefaultPreemptionArgs args = {};
  // Where the search begins, among many candidates; null: at the first, and all are looked at.
  Random* random = nullptr;
  // Where scavenger jobs are in the way, those that lose the least work go; null: there are none.
  const scavenge::Board* scavengers = nullptr;
  bool shrink_first = false;  // jobs that can be made smaller are, before anybody goes
};

// Why no pod may be evicted for this one; nullopt: it may.
std::optional<std::string> not_eligible(const PreemptionQuestion&);

struct PreemptionAnswer {
  std::vector<PreemptionCandidate> candidates;  // first those that violate no budget
  Status status = {};                           // where there are none: why, node by node, or what
                                                // went wrong
  // The only candidate is there because it loses the least work; null: kube-scheduler's order.
  std::shared_ptr<const LostWork> lost = nullptr;
};
PreemptionAnswer find_candidates(const PreemptionQuestion&);

// The candidates that kube-scheduler would choose from, by place; at least one of what is given.
std::vector<std::size_t> best_candidates(const std::vector<PreemptionCandidate>&, WallTime now);

// What kube-scheduler would choose if its search began at the first of these rows.
std::optional<PreemptionCandidate> stock_choice(const PreemptionQuestion&,
                                                std::span<const std::uint32_t> rows);

}  // namespace berth::scheduler
