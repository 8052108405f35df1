// SPDX-License-Identifier: Apache-2.0
// What programs report of their checkpoints, and what follows from it.
#pragma once

#include <optional>
#include <vector>

#include "kube/object.h"
#include "kube/ours/scavenger_job_view.h"
#include "policy/scavenge/cost.h"

namespace berth::controllers {

// On pods, beside the time: what writing it took, as a Go duration. Optional.
inline constexpr std::string_view kCheckpointCostAnnotation = "berth.dev/checkpoint-cost";

struct CheckpointReport {
  WallTime at = {};
  std::optional<Duration> took = {};
};
// The latest of all members, by annotation or termination message ("checkpoint <time>"). What is
// said of the future is said of now; what is before `since` says nothing.
std::optional<CheckpointReport> latest_report(const std::vector<const kube::Object*>& pods,
                                              WallTime since, WallTime now);

// status.cost and back. Times to the microsecond.
std::optional<scavenge::CostBasis> read_cost(json::Slice);
std::string cost_json(const scavenge::CostBasis&);

// The lengths of the runs that ended in an interruption, oldest first, by a status' timestamps.
std::vector<Duration> interrupted_runs(json::Slice status);

}  // namespace berth::controllers
