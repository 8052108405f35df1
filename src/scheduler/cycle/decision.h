// SPDX-License-Identifier: Apache-2.0
// One attempt to place one pod, and what came of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/cycle.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/profile.h"

namespace berth::scheduler {

// Holds what a Cycle refers to: it may live on while the pod is bound. Loop-confined; not moved.
struct Attempt {
  Attempt(PodPtr placing, std::shared_ptr<const Shape> its_shape, const ClusterState& cluster,
          std::size_t slots)
      : pod(std::move(placing)), shape(std::move(its_shape)), cycle{*pod, *shape, cluster, {},
                                                                    {},   {},     nullptr} {
    cycle.states.resize(slots);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  const PodPtr pod;
  const std::shared_ptr<const Shape> shape;
  Cycle cycle;
};

// Weighted scores of one plugin, in the order of Decision::feasible.
struct PluginScores {
  PluginId plugin = PluginId::kNone;
  std::vector<std::int64_t> weighted;
};

// How long the steps of a decision took, where somebody asked; absent: it did not come so far. A
// decision from a cache is made in one step, which counts as Filter.
struct StageTimes {
  std::optional<Duration> pre_filter, filter, pre_score, score;
};

// A value that is moved. Rows are those of the cluster's table when the attempt was made.
struct Decision {
  std::unique_ptr<Attempt> attempt;

  // ok: `node` is the place. Rejected: the pod fits nowhere, `diagnosis` says why. Anything else:
  // an error that ended the attempt.
  Status status = {};
  std::string node;
  std::uint32_t row = 0;       // its row
  bool by_nomination = false;  // the node that the pod was promised was taken without a search

  std::optional<std::uint32_t> refused_nomination = std::nullopt;  // its row, where it did not fit

  // In kube-scheduler's order: as they were found, from where the search began.
  // A cached decision lists them only where that was wanted.
  std::vector<std::uint32_t> feasible;
  std::uint32_t feasible_count = 0;
  std::int64_t total = 0;       // the winner's, where there was a choice
  bool cached = false;          // decided from a cached shape; totals and scores are empty
  std::uint32_t evaluated = 0;  // feasible ones and those with a verdict
  Diagnosis diagnosis;          // by_row is filled where nothing fits or reasons were wanted
  Profile::Prepared prepared;
  StageTimes took = {};

  // Where scores were wanted or there was a choice: in the order of `feasible`.
  std::vector<std::int64_t> totals;
  std::vector<PluginScores> scores;  // only where wanted; a plugin that was skipped is absent
};

}  // namespace berth::scheduler
