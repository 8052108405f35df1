// SPDX-License-Identifier: Apache-2.0
// Ends running scavengers where the cluster is fuller than it should be: it begins above an upper
// mark and goes on down to the threshold, so that it neither flaps nor fights the starts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "kube/resource_list.h"

namespace berth::scavenge {

struct RegulatorRules {
  int threshold_percent = 70;
  int upper_percent = 85;  // at least the threshold
  Duration settle = 30s;   // after something was ended: its room has to be seen free first
};

struct RunningJob {
  std::string uid = {};
  int tier = 0;
  std::int64_t cost = 0;  // at this moment
  WallTime started = {};
  kube::ResourceList member = {};
  int members = 1;
  bool ending = false;  // it has been told to go already
};
struct RegulatorState {
  bool active = false;  // above the upper mark, and not yet down again
  std::optional<WallTime> last_ended = {};
  friend bool operator==(const RegulatorState&, const RegulatorState&) = default;
};
struct Regulation {
  RegulatorState state = {};
  std::vector<std::string> end = {};  // uids: one cover at a time
  bool exact = true;                  // no other would lose less
  std::string message = {};           // "cpu: 88 of 100 in use, 70 are meant to be"
  std::optional<WallTime> look_again = {};
};

// cpu, memory and extended resources that scavengers have are watched. What is lost is least: the
// jobs that end are a cheapest cover of what is above the threshold, or all of them where even that
// is not enough. Room of jobs that are ending counts as free already.
Regulation regulate(const kube::ResourceList& capacity, const kube::ResourceList& used,
                    std::span<const RunningJob>, const RegulatorState&, const RegulatorRules&,
                    WallTime now);

}  // namespace berth::scavenge
