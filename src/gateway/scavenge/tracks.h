// SPDX-License-Identifier: Apache-2.0
// What the interruption of each job would have cost over the last while: the stretches of time in
// which the parameters of its cost stayed. Statuses tell the present and when runs began and ended;
// checkpoints are known from when somebody looked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/ours/scavenger_job_view.h"
#include "policy/scavenge/cost.h"

namespace berth::gateway {

struct TrackPiece {
  WallTime from = {};
  std::optional<WallTime> to = {};  // none: until now
  scavenge::CostBasis basis = {};
  std::optional<std::int64_t> lost = {};  // it ended by an interruption; milli core-seconds

  friend bool operator==(const TrackPiece&, const TrackPiece&) = default;
};

// A run of a job by its status: from when all members ran until it ended.
struct PastRun {
  WallTime from = {};
  std::optional<WallTime> to = {};  // none: it goes on
  bool interrupted = false;
};
// Oldest first. What timestamps that were dropped have told is not known any more.
std::vector<PastRun> past_runs(const kube::ScavengerJobView&);

// Thread-compatible.
class Tracks {
 public:
  static constexpr Duration kKept = 90min;

  // The job as it is now.
  void put(const kube::ScavengerJobView&, WallTime now);
  void remove(std::string_view uid);
  const std::vector<TrackPiece>& of(std::string_view uid) const;

 private:
  std::map<std::string, std::vector<TrackPiece>, std::less<>> pieces_;
};

}  // namespace berth::gateway
