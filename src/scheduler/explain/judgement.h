// SPDX-License-Identifier: Apache-2.0
// What a profile makes of a pod, taken apart: every node's verdict, every plugin's score, and what
// preemption would do where nothing fits. Nothing is changed by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/explain/case.h"
#include "scheduler/preemption/dry_run.h"

namespace berth::scheduler {

// For what has no clock: pods without a start time started after all others.
inline constexpr WallTime kNoClock{.unix_nanos = std::int64_t{4'000'000'000} * 1'000'000'000};

// Loop-confined. The case outlives it and must not change meanwhile.
class Judgement {
 public:
  enum class Outcome {
    kFits,
    kFitsNowhere,     // a verdict for every node
    kRefusedAsWhole,  // by a PreFilter plugin, or because there is no node: no node was looked at
    kFailed,          // a plugin gave up; the status says why
  };
  struct Preemption {
    std::optional<std::string> refused;           // why nobody may be evicted for this pod
    std::vector<PreemptionCandidate> candidates;  // where it may
    std::vector<std::size_t> best;                // of those, equally good; the first is taken
  };

  // `now`: when pods without a start time are taken to have started.
  Judgement(const ProfileSpec& spec, Registry registry, Case& problem, WallTime now);
  Judgement(const Judgement&) = delete;
  Judgement& operator=(const Judgement&) = delete;

  Outcome outcome() const { return outcome_; }
  const Decision& decision() const { return decision_; }
  const std::string& chosen() const { return chosen_; }  // "" where it does not fit
  bool promised() const { return promised_; }            // the nominated node was taken
  // Where it does not fit and the profile preempts.
  const std::optional<Preemption>& preemption() const { return preemption_; }
  std::string scheduling_failure() const;  // the text of the event and the condition; "": it fits

  const Case& problem() const { return problem_; }
  const Profile& profile() const { return profile_; }
  ReasonTable& reasons() const { return reasons_; }  // the one that the profile's plugins use
  const ClusterState& cluster() const { return *problem_.cluster; }
  std::string_view node_name(std::uint32_t row) const {
    return cluster().node(cluster().table().node[row]).name;
  }

 private:
  void post_filter(WallTime now);
  Status preempt(PluginId plugin, WallTime now);

  Case& problem_;
  mutable ReasonTable reasons_;
  Profile profile_;
  SearchStart start_;
  Decider decider_;
  Outcome outcome_ = Outcome::kFailed;
  Decision decision_;
  std::string chosen_;
  bool promised_ = false;
  std::optional<Preemption> preemption_;
  std::string post_filter_message_;
};

}  // namespace berth::scheduler
