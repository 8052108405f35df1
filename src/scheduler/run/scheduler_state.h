// SPDX-License-Identifier: Apache-2.0
// What the files of the scheduler share and nobody else sees.
#pragma once

#include "scheduler/run/decision_metrics.h"
#include "scheduler/run/scheduler.h"

namespace berth::scheduler {

struct Scheduler::ProfileState {
  Profile profile;
  std::unique_ptr<Decider> decider;
  ProfileMetrics& metrics;
  std::uint64_t hits_told = 0;  // of the decider's caches
  std::unique_ptr<DecisionMetrics> decisions = nullptr;
};

// A pod that was refused after its node had been chosen: 0/1 nodes are available.
Diagnosis one_node_diagnosis(const Status&, ReasonTable&);

}  // namespace berth::scheduler
