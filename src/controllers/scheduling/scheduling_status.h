// SPDX-License-Identifier: Apache-2.0
// What a Scheduling says of itself: its state, a chip a job, conditions with reasons, times.
#pragma once

#include <string>
#include <vector>

#include "controllers/scheduling/claims.h"
#include "controllers/scheduling/progress.h"
#include "controllers/scheduling/scheduling_table.h"

namespace berth::controllers {

struct SchedulingFindings {
  SchedulingState state = SchedulingState::kAcquire;
  bool acquired = false;   // everything, now or before
  bool completed = false;  // now or before
  ClaimStep claims = {};
  std::vector<slots::Waiting> waiting = {};  // its own jobs
};

struct SchedulingSummary {
  std::string status;                                     // JSON
  std::vector<std::pair<std::string, std::string>> told;  // events: reason and note
  std::optional<WallTime> look_again;
};
SchedulingSummary scheduling_status(const kube::SchedulingView&, const SchedulingProgress&,
                                    const SchedulingFindings&, WallTime now);

}  // namespace berth::controllers
