// SPDX-License-Identifier: Apache-2.0
// What the suite reads of the ScavengerPolicy: every knob with its default and its bounds, in the
// one place where they are.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/time.h"

namespace berth::kube {

// A value; what it has from the start is what counts where there is no policy.
struct ScavengerPolicy {
  int threshold_percent = 70;
  std::string threshold_scope = "Cluster";       // Node, Both
  std::string threshold_mode = "WithCandidate";  // Current
  std::optional<int> adaptive_reserve_percent = {};
  std::string starvation = "None";  // Aging, BackfillReservation
  Duration aging_every = 1h, reserve_after = 10min;
  bool respect_pending = true;

  bool fair_shares = false;
  Duration half_life = 24h;
  std::map<std::string, double, std::less<>> user_weights = {};  // others: 1

  int steps = 3;
  Duration default_duration = 30min;
  Duration window_min = 15min, window_max = 4h;
  std::int64_t core_milli = 1'000, gib_milli = 125, gpu_milli = 16'000;  // what a second is worth
  Duration min_run_max = 1h;  // nobody's minRun counts as more
  Duration grace_max = 5min;  // between being told to stop and being killed
  Duration start_grace = 60s;
  Duration max_notice = 0s;
  bool snapshots = false;  // of containers that report no checkpoints

  bool honour_pdbs = false;  // over scavengers' pods
  bool reclaim = false;      // the operator makes room for ordinary pods
  bool regulator = false;
  int upper_percent = 85;  // above which the regulator ends work; never below the threshold
  bool default_limits = true;
  std::string scheduler_name = {};  // "": the scheduler of everybody

  // The window in which a run of this duration is protected.
  Duration window(std::optional<Duration> duration) const {
    return std::clamp(duration.value_or(default_duration), window_min, window_max);
  }
  double weight_of(std::string_view user) const {
    const auto found = user_weights.find(user);
    return found == user_weights.end() ? 1 : found->second;
  }
};

namespace policy_reading {

inline int percent(json::Slice from, int otherwise) {
  return static_cast<int>(std::clamp<std::int64_t>(from.integer().value_or(otherwise), 0, 100));
}
inline Duration at_least(json::Slice from, Duration least, Duration otherwise) {
  return std::max(least, parse_duration(from.text()).value_or(otherwise));
}
inline std::string word(json::Slice from, std::string otherwise) {
  std::string given = from.text();
  return given.empty() ? otherwise : given;
}
// In thousandths, never negative.
inline std::int64_t milli(json::Slice from, std::int64_t otherwise) {
  if (!from) return otherwise;
  const auto amount = Quantity::from_json(from);
  return amount ? std::max<std::int64_t>(0, amount->milli_value()) : otherwise;
}

}  // namespace policy_reading

// Null: there is none.
inline ScavengerPolicy read_scavenger_policy(const Object* policy) {
  ScavengerPolicy out;
  if (policy == nullptr) return out;
  using namespace policy_reading;  // NOLINT: small change of this function
  const json::Slice spec = policy->member("spec");
  out.threshold_percent = percent(spec["thresholdPercent"], out.threshold_percent);
  out.threshold_scope = word(spec["thresholdScope"], out.threshold_scope);
  out.threshold_mode = word(spec["thresholdMode"], out.threshold_mode);
  if (spec["adaptiveReservePercent"])
    out.adaptive_reserve_percent = percent(spec["adaptiveReservePercent"], 0);
  out.starvation = word(spec["starvation"], out.starvation);
  out.aging_every = at_least(spec["agingEvery"], 1s, out.aging_every);
  out.reserve_after = at_least(spec["reserveAfter"], 0s, out.reserve_after);
  out.respect_pending = spec["respectPending"].boolean(out.respect_pending);

  const json::Slice shares = spec["fairShares"];
  out.fair_shares = shares["enabled"].boolean();
  out.half_life = at_least(shares["halfLife"], 1min, out.half_life);
  for (const auto [user, weight] : shares["weights"].members())
    out.user_weights[std::string(user)] =
        static_cast<double>(std::max<std::int64_t>(1, milli(weight, 1'000))) / 1'000;

  out.steps = static_cast<int>(
      std::clamp<std::int64_t>(spec["steps"].integer().value_or(out.steps), 1, 100));
  out.default_duration = at_least(spec["defaultDuration"], 1s, out.default_duration);
  out.window_min = at_least(spec["windowMin"], 1s, out.window_min);
  out.window_max = at_least(spec["windowMax"], out.window_min, out.window_max);
  out.core_milli = milli(spec["weights"]["core"], out.core_milli);
  out.gib_milli = milli(spec["weights"]["gib"], out.gib_milli);
  out.gpu_milli = milli(spec["weights"]["gpu"], out.gpu_milli);
  out.min_run_max = at_least(spec["minRunMax"], 0s, out.min_run_max);
  out.grace_max = at_least(spec["graceMax"], 1s, out.grace_max);
  out.start_grace = at_least(spec["startGrace"], 1s, out.start_grace);
  out.max_notice = at_least(spec["maxNotice"], 0s, out.max_notice);
  out.snapshots = spec["containerSnapshots"].equals("On");

  out.honour_pdbs = spec["scavengerPdbs"].equals("Honour");
  out.reclaim = spec["reclaim"].equals("On");
  out.regulator = spec["regulator"]["enabled"].boolean();
  out.upper_percent = std::max(out.threshold_percent,
                               percent(spec["regulator"]["upperPercent"], out.upper_percent));
  out.default_limits = spec["defaultLimits"].boolean(out.default_limits);
  out.scheduler_name = spec["schedulerName"].text();
  return out;
}

}  // namespace berth::kube
