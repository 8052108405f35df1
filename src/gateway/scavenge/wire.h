// SPDX-License-Identifier: Apache-2.0
// How scavenger jobs look in JSON. The page's types are in ui/src/api/scavenger_types.ts. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "gateway/scavenge/tracks.h"
#include "json/writer.h"
#include "kube/ours/scavenger_job_view.h"
#include "policy/scavenge/admit.h"

namespace berth::gateway {

inline std::int64_t millis(std::optional<WallTime> at) {
  return at ? at->unix_nanos / 1'000'000 : 0;
}

// "Turn", "Threshold", …, as the page knows them.
std::string_view name_of(scavenge::WaitReason);

// What is missing of a resource; cpu in thousandths.
struct Shortage {
  std::string resource = {};  // "": nothing that is counted
  std::int64_t amount = 0;
};
// What `wants` lacks under the threshold, cpu first.
Shortage shortage(const scavenge::AdmitQuestion&, int threshold_percent,
                  const scavenge::Waiting& wants);
// Cores that could still be started, in thousandths; never negative.
std::int64_t free_cores(const scavenge::AdmitQuestion&, int threshold_percent);

struct WaitWire {
  const scavenge::Wait* wait = nullptr;
  Shortage shortage = {};
  std::optional<WallTime> until = {};
};

enum class ScavengerDoes : std::uint8_t { kWaits, kStarts, kRuns, kIsReclaimed, kHasEnded };
ScavengerDoes does(const kube::ScavengerJobView&);

struct RowFacts {
  std::int64_t cores_milli = 0;  // of all members
  int members = 1;
  int nodes = 0;  // where pods of it are
  std::span<const TrackPiece> track = {};
  WaitWire waits = {};
};
// {"namespace": …, "name": …, "state": "running", …}
std::string row_json(const kube::ScavengerJobView&, const RowFacts&);

}  // namespace berth::gateway
