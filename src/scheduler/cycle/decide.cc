// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/decide.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "scheduler/cycle/tie_break.h"

namespace berth::scheduler {
namespace {

void normalize(const Score& plugin, const Cycle& cycle, std::span<std::int64_t> values) {
  switch (plugin.normalization()) {
    case Normalize::kNone:
      return;
    case Normalize::kDefault:
      return default_normalize(values, false);
    case Normalize::kDefaultReversed:
      return default_normalize(values, true);
    case Normalize::kOwn:
    case Normalize::kPerNode:
      return plugin.normalize(cycle, values);
  }
}

// Every row of the set, from `first` on and then from the beginning.
void take_all(Decision& decision, const RowSet& rows, std::uint32_t first) {
  std::vector<std::uint32_t>& feasible = decision.feasible;
  feasible.reserve(rows.count());
  rows.for_each([&](std::uint32_t row) { feasible.push_back(row); });
  std::rotate(feasible.begin(), std::lower_bound(feasible.begin(), feasible.end(), first),
              feasible.end());
}

}  // namespace

std::uint32_t nodes_to_find(std::uint32_t nodes, std::int32_t percentage) {
  constexpr std::uint32_t kFewest = 100;
  if (nodes < kFewest) return nodes;
  std::int64_t share = percentage;
  if (share == 0) share = std::max<std::int64_t>(50 - std::int64_t{nodes} / 125, 5);
  const std::int64_t found = std::int64_t{nodes} * share / 100;
  return std::max(static_cast<std::uint32_t>(found), kFewest);
}

// The rows that a search looks at, from where it begins: all, or those that PreFilter named.
class Decider::Path {
 public:
  Path(const Decision& decision, const ClusterState& cluster, std::uint32_t start)
      : all_(cluster.size()) {
    if (const auto& named = decision.prepared.named) {
      rows_.emplace();
      for (const std::string& name : *named)
        if (const std::optional<std::uint32_t> row = cluster.row_of(name)) rows_->push_back(*row);
      std::sort(rows_->begin(), rows_->end());
    }
    start_ = size() == 0 ? 0 : start % size();
  }
  std::uint32_t size() const { return rows_ ? static_cast<std::uint32_t>(rows_->size()) : all_; }
  std::uint32_t operator[](std::uint32_t i) const {
    const std::uint32_t at = start_ < size() - i ? start_ + i : start_ + i - size();
    return rows_ ? (*rows_)[at] : at;
  }
  std::uint32_t first() const { return (*this)[0]; }
  bool has(std::uint32_t row) const {
    return !rows_ || std::binary_search(rows_->begin(), rows_->end(), row);
  }
  RowSet rows() const {
    RowSet set(all_, !rows_);
    if (rows_)
      for (std::uint32_t row : *rows_) set.insert(row);
    return set;
  }

 private:
  std::uint32_t all_, start_ = 0;
  std::optional<std::vector<std::uint32_t>> rows_;
};

Decider::Decider(const Profile& profile, ClusterState& cluster, ReasonTable& reasons,
                 const NominatedPods* nominated, SearchStart& start, DeciderSpec spec)
    : profile_(profile),
      cluster_(cluster),
      reasons_(reasons),
      nominated_(nominated),
      start_(start),
      spec_(std::move(spec)),
      shapes_(profile, cluster),
      fast_(profile, cluster, nominated,
            {.at_first_sight = spec_.mode == DecideMode::kCachedCold,
             .bytes = spec_.cache_bytes,
             .on_fallback = spec_.on_fallback,
             .on_build = spec_.on_build}) {}

Decision Decider::decide(PodPtr pod, const DecideOptions& options) {
  Decision decision = begin(std::move(pod), options.probe);
  if (!decision.status.ok()) return decision;
  const bool fast =
      spec_.mode != DecideMode::kPlain && !options.reasons && !options.scores && served(options);
  if (!fast) return plainly(std::move(decision), options);
  const std::uint32_t start = start_.next;
  const std::uint32_t first = start % cluster_.size();
  const Instant since = now();
  decision.cached = fast_.decide(decision, first, options.feasible);
  took(decision.took.filter, since);
  if (!decision.cached) {
    decision = plainly(std::move(decision), options);
    if (decision.status.code == Code::kUnschedulable && decision.evaluated == cluster_.size())
      fast_.remember_refusal(decision);
    return decision;
  }
  start_.next = first;  // every node was looked at
  if (spec_.verify_every == 0 || ++cached_ % spec_.verify_every != 0) return decision;
  return verified(std::move(decision), start);
}

Decision Decider::plainly(Decision decision, const DecideOptions& options) {
  if (!nominated(decision)) search(decision, options);
  settle(decision);
  if (decision.status.ok()) choose(decision, options);
  return decision;
}

// Whether caches can answer at all. They know every node, and nothing of extenders.
bool Decider::served(const DecideOptions& options) {
  if ((spec_.extenders_filter || spec_.extenders_prioritize) && !options.extenders_silent) {
    fast_.fall_back("extenders");
    return false;
  }
  if (profile_.scorers().empty()) {
    fast_.fall_back("no_scores");
    return false;
  }
  const std::int32_t percentage =
      profile_.spec().percentage_of_nodes_to_score.value_or(spec_.percentage_of_nodes_to_score);
  if (nodes_to_find(cluster_.size(), percentage) >= cluster_.size()) return true;
  fast_.fall_back("sampling");
  return false;
}

void Decider::took(std::optional<Duration>& time, Instant since) const {
  if (spec_.clock != nullptr) time = time.value_or(Duration{}) + (now() - since);
}

Decision Decider::begin(PodPtr pod, PluginProbe* probe) {
  cluster_.begin_cycle();
  Decision decision;
  std::shared_ptr<const Shape> shape = shapes_.of(*pod);
  decision.attempt =
      std::make_unique<Attempt>(std::move(pod), std::move(shape), cluster_, profile_.slots());
  Diagnosis& diagnosis = decision.diagnosis;
  diagnosis.nodes = cluster_.size();
  diagnosis.table = &reasons_;
  if (diagnosis.nodes == 0) {
    decision.status = Status::unresolvable("no nodes available to schedule pods");
    return decision;
  }
  decision.attempt->cycle.probe = probe;
  const Instant since = now();
  decision.prepared = profile_.prepare(decision.attempt->cycle);
  took(decision.took.pre_filter, since);
  const Status& status = decision.prepared.status;
  if (status.ok()) {
    diagnosis.unschedulable = decision.prepared.rejectors;
    return decision;
  }
  decision.status = status;
  if (status.rejected()) {
    diagnosis.prefilter = status;
    diagnosis.absent = status;
    diagnosis.unschedulable = decision.prepared.rejectors;
  }
  return decision;
}

bool Decider::nominated(Decision& decision) {
  const Cycle& cycle = decision.attempt->cycle;
  if (cycle.pod.nominated_node_name.empty()) return false;
  const std::optional<std::uint32_t> row = cluster_.row_of(cycle.pod.nominated_node_name);
  if (!row) return false;
  RowSet only(cluster_.size());
  only.insert(*row);
  const Instant since = now();
  const Verdicts verdicts = judge(cycle, only, true);
  took(decision.took.filter, since);
  if (!verdicts.status.ok()) return false;  // k8s 1.36: only logged; the search will meet it again
  if (verdicts.pass.has(*row)) {
    decision.feasible = {*row};
    decision.feasible_count = 1;
    decision.evaluated = 1;
    decision.by_nomination = true;
    return true;
  }
  refuse(decision.diagnosis, *row, verdicts.why->at(*row));
  decision.refused_nomination = *row;
  return false;
}

void Decider::search(Decision& decision, const DecideOptions& options) {
  const Cycle& cycle = decision.attempt->cycle;
  const Path path(decision, cluster_, start_.next);
  decision.feasible.clear();
  decision.by_nomination = false;
  if (decision.prepared.named) decision.diagnosis.absent = decision.prepared.absent;
  std::uint32_t to_find = nodes_to_find(
      path.size(),
      profile_.spec().percentage_of_nodes_to_score.value_or(spec_.percentage_of_nodes_to_score));
  if (!spec_.extenders_filter && !scoring()) to_find = 1;

  const Instant since = now();
  const RowSet candidates = path.rows();
  const Verdicts verdicts = judge(cycle, candidates, options.reasons);
  if (!verdicts.status.ok())
    walk_one_by_one(decision, path, to_find);
  else if (verdicts.pass.empty() && !verdicts.why)
    walk(decision, path, to_find, judge(cycle, candidates, true), path.size());
  else
    walk(decision, path, to_find, verdicts, path.size());
  took(decision.took.filter, since);
  start_.next = (start_.next + decision.evaluated) % cluster_.size();
}

// In kube-scheduler's order until one more than enough was found; that one does not count.
void Decider::walk(Decision& decision, const Path& path, std::uint32_t to_find,
                   const Verdicts& verdicts, std::uint32_t steps) const {
  const std::uint32_t passing = verdicts.pass.count();
  std::uint32_t refused = 0;
  bool refused_again = false;
  if (!verdicts.why && passing <= to_find && steps == path.size()) {  // nothing is cut off
    if (passing > 0) take_all(decision, verdicts.pass, path.first());
    refused = steps - passing;
    refused_again = decision.refused_nomination && path.has(*decision.refused_nomination);
  } else {
    for (std::uint32_t i = 0; i < steps; ++i) {
      const std::uint32_t row = path[i];
      if (verdicts.pass.has(row)) {
        if (decision.feasible.size() == to_find) break;
        decision.feasible.push_back(row);
        continue;
      }
      ++refused;
      refused_again = refused_again || decision.refused_nomination == row;
      if (verdicts.why) refuse(decision.diagnosis, row, verdicts.why->at(row));
    }
  }
  if (decision.refused_nomination && !refused_again) ++refused;
  decision.feasible_count = static_cast<std::uint32_t>(decision.feasible.size());
  decision.evaluated = decision.feasible_count + refused;
}

// A filter failed on some row. Only kube-scheduler's way, node by node, tells whether the search
// comes that far, and where the next one begins.
void Decider::walk_one_by_one(Decision& decision, const Path& path, std::uint32_t to_find) const {
  Verdicts so_far{.pass = RowSet(cluster_.size()), .why = Rejections(reasons_, cluster_.size())};
  std::uint32_t steps = 0;
  for (; steps < path.size(); ++steps) {
    const std::uint32_t row = path[steps];
    RowSet only(cluster_.size());
    only.insert(row);
    const Verdicts one = judge(decision.attempt->cycle, only, true);
    if (!one.status.ok()) {
      decision.status = one.status;
      break;
    }
    if (!one.pass.has(row)) {
      so_far.why->reject(row, one.why->at(row));
      continue;
    }
    if (so_far.pass.count() == to_find) break;
    so_far.pass.insert(row);
  }
  walk(decision, path, to_find, so_far, steps);
}

void Decider::settle(Decision& decision) const {
  if (decision.status.ok() && decision.feasible.empty())
    decision.status = {.code = Code::kUnschedulable};
}

void Decider::choose(Decision& decision, const DecideOptions& options,
                     const ExtenderScores& extenders) const {
  BERTH_CHECK(!decision.feasible.empty());
  decision.feasible_count = static_cast<std::uint32_t>(decision.feasible.size());
  std::uint32_t winner = 0;
  if (decision.feasible.size() > 1 || options.scores) {
    decision.status = score(decision, options.scores);
    if (!decision.status.ok()) return;
    for (std::size_t i = 0; i < extenders.points.size(); ++i)
      decision.totals[i] += extenders.points[i];
    winner = extenders.chance.empty() ? winner_of(decision.totals)
                                      : winner_of(decision.totals, extenders.chance);
    decision.total = decision.totals[winner];
  }
  decision.row = decision.feasible[winner];
  decision.node = cluster_.node(cluster_.table().node[decision.row]).name;
}

Decider::Verdicts Decider::judge(const Cycle& cycle, const RowSet& candidates, bool reasons) const {
  Verdicts verdicts{.pass = candidates};
  if (reasons) verdicts.why.emplace(reasons_, cluster_.size());
  Rejections* const why = reasons ? &*verdicts.why : nullptr;
  const std::vector<std::uint32_t> apart = rows_without(cycle, verdicts.pass);
  verdicts.status = profile_.filter(cycle, cluster_.rows(), verdicts.pass, why);
  if (verdicts.status.ok() && !apart.empty())
    verdicts.status = judge_without(cycle, apart, verdicts.pass, why);
  if (verdicts.status.ok() && nominated_ != nullptr && !nominated_->empty())
    verdicts.status = judge_with_nominated(cycle, candidates, verdicts.pass, why);
  return verdicts;
}

// The rows on which some pods are to be taken for gone; they leave `candidates`.
std::vector<std::uint32_t> Decider::rows_without(const Cycle& cycle, RowSet& candidates) const {
  std::vector<std::uint32_t> rows;
  for (const PodPtr& pod : cycle.without)
    if (const auto row = cluster_.row_of(pod->node_name); row && candidates.has(*row)) {
      candidates.erase(*row);
      rows.push_back(*row);
    }
  return rows;
}
void Decider::take_away(const Cycle& cycle, WhatIf& what_if, std::uint32_t scratch,
                        std::uint32_t row) const {
  for (const PodPtr& pod : cycle.without)
    if (cluster_.row_of(pod->node_name) == row) what_if.remove(scratch, pod);
}
Status Decider::judge_without(const Cycle& cycle, const std::vector<std::uint32_t>& apart,
                              RowSet& pass, Rejections* why) const {
  const std::unique_ptr<WhatIf> what_if = profile_.what_if(cycle);
  for (const std::uint32_t row : apart)
    take_away(cycle, *what_if, what_if->open(cluster_.table().node[row]), row);
  RowSet keep(what_if->size(), true);
  Rejections reasons(reasons_, what_if->size());
  const Status status = profile_.filter(cycle, what_if->rows(), keep, &reasons);
  if (!status.ok()) return status;
  for (std::uint32_t scratch = 0; scratch < apart.size(); ++scratch) {
    if (keep.has(scratch))
      pass.insert(apart[scratch]);
    else if (why != nullptr)
      why->reject(apart[scratch], reasons.at(scratch));
  }
  return {};
}

// The pods that were promised a node count as if they were there; whoever comes after them must fit
// both beside them and without them, and what is said beside them is what is reported.
Status Decider::judge_with_nominated(const Cycle& cycle, const RowSet& candidates, RowSet& pass,
                                     Rejections* why) const {
  std::unique_ptr<WhatIf> what_if;
  std::vector<std::uint32_t> origin;  // by scratch row
  for (const std::string& node : nominated_->nodes()) {
    const std::optional<std::uint32_t> row = cluster_.row_of(node);
    if (!row || !candidates.has(*row) || (why == nullptr && !pass.has(*row))) continue;
    const std::vector<PodPtr> pods = nominated_before(cycle.pod, node, *nominated_);
    if (pods.empty()) continue;
    if (!what_if) what_if = profile_.what_if(cycle);
    const std::uint32_t scratch = what_if->open(cluster_.table().node[*row]);
    take_away(cycle, *what_if, scratch, *row);
    for (const PodPtr& pod : pods) what_if->add(scratch, pod);
    origin.push_back(*row);
  }
  if (!what_if) return {};
  RowSet keep(what_if->size(), true);
  std::optional<Rejections> beside;
  if (why != nullptr) beside.emplace(reasons_, what_if->size());
  const Status status = profile_.filter(cycle, what_if->rows(), keep, beside ? &*beside : nullptr);
  if (!status.ok()) return status;
  for (std::uint32_t scratch = 0; scratch < origin.size(); ++scratch) {
    if (keep.has(scratch)) continue;
    pass.erase(origin[scratch]);
    if (why != nullptr) why->reject(origin[scratch], beside->at(scratch));
  }
  return {};
}

void Decider::refuse(Diagnosis& diagnosis, std::uint32_t row, ReasonId reason) const {
  BERTH_CHECK(reason != ReasonId::kNone, "a filter cleared a row and gave no reason");
  if (diagnosis.by_row.empty()) diagnosis.by_row.resize(diagnosis.nodes);
  diagnosis.by_row[row] = reason;
  const Status& status = reasons_.status(reason);
  diagnosis.unschedulable.insert(status.plugin);
  if (status.code == Code::kPending) diagnosis.pending.insert(status.plugin);
}

Status Decider::score(Decision& decision, bool keep_scores) const {
  const Rows rows = cluster_.rows();
  decision.totals.assign(decision.feasible.size(), profile_.scorers().empty() ? 1 : 0);
  decision.scores.clear();
  RowSet of(rows.size);
  for (std::uint32_t row : decision.feasible) of.insert(row);
  const Instant before = now();
  Status status =
      pre_score(decision, {rows, of, static_cast<std::uint32_t>(decision.feasible.size())});
  took(decision.took.pre_score, before);
  if (!status.ok()) return status;
  const Instant scoring_since = now();
  status = score_each(decision, of, keep_scores);
  took(decision.took.score, scoring_since);
  return status;
}

Status Decider::pre_score(Decision& decision, const FeasibleSummary& summary) const {
  Cycle& cycle = decision.attempt->cycle;
  for (const Score* plugin : profile_.pre_scorers()) {
    const Instant since = cycle.probe != nullptr ? cycle.probe->now() : Instant{};
    const Status status = plugin->prepare_score(cycle, summary);
    if (cycle.probe != nullptr)
      cycle.probe->ran(plugin->id(), Point::kPreScore, status.code, since);
    if (status.skipped())
      cycle.skipped_score.insert(plugin->id());
    else if (!status.ok())
      return Status::error(
          fmt::format("running PreScore plugin \"{}\": {}", plugin->name(), status.message()));
  }
  return {};
}

Status Decider::score_each(Decision& decision, const RowSet& of, bool keep_scores) const {
  const Cycle& cycle = decision.attempt->cycle;
  const Rows rows = cluster_.rows();
  const std::vector<std::uint32_t>& feasible = decision.feasible;
  std::vector<std::int64_t> raw(rows.size), values(feasible.size());
  for (const Profile::Scorer& scorer : profile_.scorers()) {
    const Score& plugin = *scorer.plugin;
    if (cycle.skipped_score.has(plugin.id())) continue;
    const Instant since = cycle.probe != nullptr ? cycle.probe->now() : Instant{};
    const Status status = plugin.score(cycle, rows, of, raw);
    if (cycle.probe != nullptr) cycle.probe->ran(plugin.id(), Point::kScore, status.code, since);
    if (!status.ok())
      return Status::error(fmt::format("running Score plugins: plugin \"{}\" failed with: {}",
                                       plugin.name(), status.message()));
    for (std::size_t i = 0; i < feasible.size(); ++i) values[i] = raw[feasible[i]];
    normalize(plugin, cycle, values);
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      if (values[i] < 0 || values[i] > 100)
        return Status::error(
            fmt::format("applying score defaultWeights on Score plugins: plugin \"{}\" returns an "
                        "invalid score {}, it should in the range of [0, 100] after normalizing",
                        plugin.name(), values[i]));
      values[i] *= scorer.weight;
      decision.totals[i] += values[i];
    }
    if (keep_scores) decision.scores.push_back({plugin.id(), values});
  }
  return {};
}

}  // namespace berth::scheduler
