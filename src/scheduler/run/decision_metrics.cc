// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/decision_metrics.h"

namespace berth::scheduler {
namespace {

std::size_t index_of(PluginId id) { return static_cast<std::size_t>(id); }

Stage stage_of(Point point) {
  switch (point) {
    case Point::kPreFilter:
      return Stage::kPreFilter;
    case Point::kFilter:
      return Stage::kFilter;
    case Point::kPreScore:
      return Stage::kPreScore;
    default:
      return Stage::kScore;
  }
}

const Plugin& plugin_of(const Filter* plugin) { return *plugin; }
const Plugin& plugin_of(const Score* plugin) { return *plugin; }
const Plugin& plugin_of(const Profile::Scorer& scorer) { return *scorer.plugin; }

}  // namespace

DecisionMetrics::DecisionMetrics(SchedulerMetrics& metrics, const Profile& profile,
                                 const Clock& clock)
    : profile_(profile), clock_(clock), stages_(metrics.profile(profile.name())) {
  for (const auto& plugin : profile.plugins()) {
    const std::size_t at = index_of(plugin->id());
    if (at >= plugins_.size()) plugins_.resize(at + 1);
    plugins_[at] = &metrics.plugin(profile.name(), plugin->name());
  }
  evaluated_.resize(plugins_.size());
}

template <class Plugins>
void DecisionMetrics::count(Counted what, const Plugins& plugins, PluginSet skipped) {
  for (const auto& one : plugins)
    if (const PluginId id = plugin_of(one).id(); !skipped.has(id)) ++evaluated_[index_of(id)][what];
}

void DecisionMetrics::decided(const Decision& decision) {
  if (!decision.attempt) return;
  const StageTimes& took = decision.took;
  const Cycle& cycle = decision.attempt->cycle;
  if (!took.pre_filter) return;  // there are no nodes
  stages_.stage(Stage::kPreFilter, decision.prepared.status.code, *took.pre_filter);
  count(kPreFilters, profile_.pre_filters(), cycle.skipped);
  if (!took.filter) return;
  const Code code = decision.status.rejected() ? Code::kSuccess : decision.status.code;
  stages_.stage(Stage::kFilter, took.pre_score ? Code::kSuccess : code, *took.filter);
  count(kFilters, profile_.filters(), cycle.skipped);
  const bool scored = took.pre_score || (decision.cached && decision.feasible_count > 1);
  if (!scored) return;
  count(kPreScores, profile_.pre_scorers(), cycle.skipped_score);
  count(kScores, profile_.scorers(), cycle.skipped_score);
  if (!took.pre_score) return;
  stages_.stage(Stage::kPreScore, took.score ? Code::kSuccess : code, *took.pre_score);
  if (took.score) stages_.stage(Stage::kScore, code, *took.score);
}

void DecisionMetrics::tell() {
  for (std::size_t id = 0; id < plugins_.size(); ++id) {
    constexpr Stage kStageOf[] = {Stage::kPreFilter, Stage::kFilter, Stage::kPreScore,
                                  Stage::kScore};
    for (std::size_t what = 0; what < kCounted; ++what)
      if (const std::uint64_t times = std::exchange(evaluated_[id][what], 0); times > 0)
        plugins_[id]->evaluated(kStageOf[what], times);
  }
}

void DecisionMetrics::ran(PluginId id, Point point, Code code, Instant since) {
  plugins_[index_of(id)]->ran(stage_of(point), code, now() - since);
}

}  // namespace berth::scheduler
