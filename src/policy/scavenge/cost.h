// SPDX-License-Identifier: Apache-2.0
// Work that is lost if a scavenger job is interrupted. Integers only: scheduler, extender, operator
// and page get the same number for the same moment.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "kube/resource_list.h"

namespace berth::scavenge {

// Stands in the job's status, where users have no right to write; pods' annotations are not read.
struct CostBasis {
  WallTime since = {};          // all members ran, or the last checkpoint
  std::int64_t rate_milli = 0;  // thousandths of a core-second that a second is worth, all members
  Duration window = {};         // nobody is protected for longer
  int steps = 1;                // in which the cost of a job that reports nothing grows
  bool reported = false;        // its checkpoints are measured
  std::int64_t restart = 0;     // milli core-seconds that a start costs by itself
  Duration interval = {};       // of its checkpoints, as it says; 0: it does not

  friend bool operator==(const CostBasis&, const CostBasis&) = default;
};

// What of a second is lost: how far into its window the job is; past the window it starts over. A
// job that reports nothing never counts as more than if it reported: rounded down to its step, or
// half of the interval that it gives, the mean of what is lost to somebody who writes so often. An
// interval of more than two steps is not believed, so that with three steps or more none protects
// more than saying nothing does.
Duration lost_time(const CostBasis&, WallTime now);
// In milli core-seconds. Never negative, never overflows.
std::int64_t cost_at(const CostBasis&, WallTime now);

// The stepped sawtooth of a run: 0 … steps - 1, and again (R29).
int running_priority(const CostBasis&, WallTime now);
// When the last window ended; nullopt in the first (R24). Windows are counted from `since`.
std::optional<WallTime> start_over(const CostBasis&, WallTime now);
// When running_priority changes next.
WallTime next_step(const CostBasis&, WallTime now);

// What a second of these requests is worth: cores + GiB / 8 + 16 x GPUs, by default.
struct CostWeights {
  std::int64_t core_milli = 1000, gib_milli = 125, gpu_milli = 16'000;
};
std::int64_t rate_milli(const kube::ResourceList& member, int members, const CostWeights& = {});

}  // namespace berth::scavenge
