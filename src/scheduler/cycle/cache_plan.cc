// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/cache_plan.h"

#include <algorithm>

namespace berth::scheduler {
namespace {

// Local scores are kept in 16 bits, and the scan needs one value for itself.
constexpr std::int64_t kMostLocal = 65534;

bool takes_part(const Score& plugin, const Cycle& cycle) {
  return !cycle.skipped_score.has(plugin.id());
}

std::size_t own_place(CachePlan& plan, ByDomain* plugin) {
  const auto known = std::find(plan.owners.begin(), plan.owners.end(), plugin);
  if (known != plan.owners.end()) return static_cast<std::size_t>(known - plan.owners.begin());
  plan.owners.push_back(plugin);
  return plan.owners.size() - 1;
}

}  // namespace

Status prepare_row_scores(const Profile& profile, Cycle& cycle, const Rows& rows) {
  static const RowSet kNobody;
  for (Score* plugin : profile.pre_scorers()) {
    if (plugin->score_reach(cycle.shape) == Reach::kDomain) continue;
    Status status = plugin->prepare_score(cycle, {rows, kNobody, 0});
    if (status.skipped())
      cycle.skipped_score.insert(plugin->id());
    else if (!status.ok())
      return status;
  }
  return {};
}

std::optional<CachePlan> plan_cache(const Profile& profile, Cycle& cycle, std::string_view& why) {
  CachePlan plan;
  for (Filter* plugin : profile.filters()) {
    if (cycle.skipped.has(plugin->id())) continue;
    switch (plugin->reach(cycle.shape)) {
      case Reach::kObject:
        plan.object_filters.push_back(plugin);
        break;
      case Reach::kRow:
        plan.row_filters.push_back(plugin);
        break;
      case Reach::kDomain:
        plan.judges.push_back({dynamic_cast<ByDomain*>(plugin), 0});
        break;
      case Reach::kCluster:
        why = "filter_of_cluster";
        return std::nullopt;
    }
  }
  // PreScore may only be asked of plugins whose answer the feasible nodes do not change.
  for (const Profile::Scorer& scorer : profile.scorers())
    if (scorer.plugin->score_reach(cycle.shape) == Reach::kCluster) {
      why = "score_of_cluster";
      return std::nullopt;
    }
  if (const Status status = prepare_row_scores(profile, cycle, cycle.cluster.rows());
      !status.ok()) {
    why = "pre_score_error";
    return std::nullopt;
  }
  std::int64_t most_local = 0;
  for (const Profile::Scorer& scorer : profile.scorers()) {
    if (!takes_part(*scorer.plugin, cycle)) continue;
    CachePlan::Scorer entry{scorer.plugin, scorer.weight};
    const Normalize normalization = scorer.plugin->normalization();
    if (normalization == Normalize::kPerNode) {
      why = "normalized_per_node";
      return std::nullopt;
    }
    const Reach reach = scorer.plugin->score_reach(cycle.shape);
    if (reach == Reach::kDomain) {
      entry.by_domain = dynamic_cast<ByDomain*>(scorer.plugin);
      plan.by_domain.push_back(entry);
    } else if (normalization == Normalize::kNone) {
      most_local += scorer.weight * 100;
      plan.local.push_back(entry);
    } else {
      if (reach != Reach::kObject) plan.regrouping = row_change::kAnything;
      plan.normalised.push_back(entry);
    }
  }
  if (most_local > kMostLocal) {
    why = "local_scores_too_large";
    return std::nullopt;
  }
  for (CachePlan::Judge& judge : plan.judges) judge.own = own_place(plan, judge.by_domain);
  for (CachePlan::Scorer& scorer : plan.by_domain) scorer.own = own_place(plan, scorer.by_domain);
  for (ByDomain* owner : plan.owners) {
    owner->keys(cycle, plan.keys);
    plan.regrouping |= owner->own_part_changes(cycle);
  }
  std::sort(plan.keys.begin(), plan.keys.end());
  plan.keys.erase(std::unique(plan.keys.begin(), plan.keys.end()), plan.keys.end());
  plan.skipped = cycle.skipped;
  plan.skipped_score = cycle.skipped_score;
  return plan;
}

}  // namespace berth::scheduler
