// SPDX-License-Identifier: Apache-2.0
// Finds the node for a pod, as kube-scheduler does with one worker. The plain path: every filter,
// every score, nothing remembered from pod to pod but where the next search begins. The cached
// path, where it gives the same answer, looks only at what changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cycle/decision.h"
#include "scheduler/cycle/fast_path.h"
#include "scheduler/framework/nominated_pods.h"
#include "scheduler/framework/plugin_probe.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/shape_table.h"

namespace berth::scheduler {

struct DecideOptions {
  bool reasons = false;  // a verdict for every row, also where the pod fits somewhere
  bool scores = false;   // scores by plugin, also where only one node fits
  // The list of feasible nodes, also of a cached decision. The two above are plain decisions.
  bool feasible = false;
  bool extenders_silent = false;  // no extender has a say about this pod
  PluginProbe* probe = nullptr;   // times the plugins of this decision; outlives the attempt
};

// What extenders add to the totals, in the order of Decision::feasible; empty where there are none.
struct ExtenderScores {
  std::vector<std::int64_t> points;
  std::vector<std::uint64_t> chance;  // 0 for nodes that no extender spoke about
};

// Where searches begin: shared by the deciders of all profiles, and by nothing else.
struct SearchStart {
  std::uint32_t next = 0;
};

enum class DecideMode : std::uint8_t {
  kPlain,
  kCached,      // a shape is cached when its second pod comes within one layout of rows
  kCachedCold,  // and here when its first one does
};

struct DeciderSpec {
  // Of the configuration, where the profile states none: 100 looks at every node, 0 adapts to the
  // size of the cluster.
  std::int32_t percentage_of_nodes_to_score = 100;
  bool extenders_filter = false;      // some extender filters
  bool extenders_prioritize = false;  // some extender scores
  DecideMode mode = DecideMode::kPlain;
  std::optional<std::size_t> cache_bytes = std::nullopt;  // FastPath::Spec::bytes
  // Every so many cached decisions one is made again on the plain path, with all counters counted
  // anew. On a difference the caches are dropped and the plain answer counts. 0: never. 1, which
  // is for tests: the process ends on a difference.
  std::uint64_t verify_every = 0;
  // What differs about that pod; the cluster is still as it was decided about.
  std::function<void(const Pod&, std::string_view)> on_mismatch = nullptr;
  std::function<void(std::string_view)> on_fallback = nullptr;  // why the plain path was taken
  std::function<void()> on_build = nullptr;                     // a cache was made
  const Clock* clock = nullptr;                                 // fills Decision::took
};

// How many feasible nodes a search over `nodes` nodes looks for.
std::uint32_t nodes_to_find(std::uint32_t nodes, std::int32_t percentage);

// Loop-confined. The cluster must not change between the steps of one decision.
class Decider {
 public:
  Decider(const Profile& profile, ClusterState& cluster, ReasonTable& reasons,
          const NominatedPods* nominated, SearchStart& start, DeciderSpec spec = {});

  // All steps at once. For a profile without extenders.
  Decision decide(PodPtr pod, const DecideOptions& options = {});

  // The steps, for who must ask extenders in between. Each is to be called while the status is ok
  // and the one before did not find what it looked for:
  //   Decision d = begin(pod);
  //   if (nominated(d)) { let extenders filter d.feasible; when it stays: choose(d) }
  //   search(d); let extenders filter d.feasible, then settle(d); let them score; choose(d, …,
  //   theirs)
  Decision begin(PodPtr pod, PluginProbe* probe = nullptr);
  bool nominated(Decision&);
  void search(Decision&, const DecideOptions& options = {});
  void settle(Decision&) const;  // nothing is feasible: the status says so
  void choose(Decision&, const DecideOptions& options = {},
              const ExtenderScores& extenders = {}) const;

  ShapeTable& shapes() { return shapes_; }
  FastPath& fast_path() { return fast_; }
  std::uint64_t mismatches() const { return mismatches_; }
  const Profile& profile() const { return profile_; }

 private:
  class Path;
  bool served(const DecideOptions&);
  Decision plainly(Decision, const DecideOptions&);
  std::string difference(const Decision& cached, const Decision& plain) const;
  Decision verified(Decision cached, std::uint32_t start);
  struct Verdicts {
    Status status = {};  // an error ends the attempt
    RowSet pass;
    std::optional<Rejections> why = std::nullopt;
  };
  Verdicts judge(const Cycle&, const RowSet& candidates, bool reasons) const;
  std::vector<std::uint32_t> rows_without(const Cycle&, RowSet& candidates) const;
  void take_away(const Cycle&, WhatIf&, std::uint32_t scratch, std::uint32_t row) const;
  Status judge_without(const Cycle&, const std::vector<std::uint32_t>& apart, RowSet& pass,
                       Rejections* why) const;
  Status judge_with_nominated(const Cycle&, const RowSet& candidates, RowSet& pass,
                              Rejections* why) const;
  void walk(Decision&, const Path&, std::uint32_t to_find, const Verdicts&,
            std::uint32_t steps) const;
  void walk_one_by_one(Decision&, const Path&, std::uint32_t to_find) const;
  void refuse(Diagnosis&, std::uint32_t row, ReasonId) const;
  Status score(Decision&, bool keep_scores) const;
  Status pre_score(Decision&, const FeasibleSummary&) const;
  Status score_each(Decision&, const RowSet& of, bool keep_scores) const;
  // The time since, added to what was taken before.
  void took(std::optional<Duration>& time, Instant since) const;
  Instant now() const { return spec_.clock != nullptr ? spec_.clock->now() : Instant{}; }
  bool scoring() const { return !profile_.scorers().empty() || spec_.extenders_prioritize; }

  const Profile& profile_;
  ClusterState& cluster_;
  ReasonTable& reasons_;
  const NominatedPods* nominated_;
  SearchStart& start_;
  DeciderSpec spec_;
  ShapeTable shapes_;
  FastPath fast_;
  std::uint64_t cached_ = 0, mismatches_ = 0;
};

}  // namespace berth::scheduler
