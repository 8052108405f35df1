// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preemption/dry_run.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "scheduler/cache/budget_state.h"
#include "scheduler/preemption/lost_work.h"
#include "scheduler/preemption/violations.h"

namespace berth::scheduler {
namespace {

class NobodyNominated final : public NominatedPods {
 public:
  bool empty() const override { return true; }
  std::vector<PodPtr> on(std::string_view) const override { return {}; }
  std::vector<std::string> nodes() const override { return {}; }
};
const NobodyNominated kNobodyNominated;

const Pod& preemptor_of(const PreemptionQuestion& q) {
  return q.preemptor != nullptr ? *q.preemptor : q.cycle.pod;
}

std::int64_t started(const Pod& pod, WallTime now) {
  return pod.start_time.value_or(now).unix_nanos;
}

struct Dry {
  Status status = {};  // not ok: no candidate, and why
  PreemptionCandidate candidate = {};
};

Dry dry_run(const PreemptionQuestion& q, NodeId id) {
  const ClusterState& cluster = q.cycle.cluster;
  const NominatedPods& nominated = q.nominated != nullptr ? *q.nominated : kNobodyNominated;
  const std::int32_t priority = preemptor_of(q).priority();
  const std::unique_ptr<WhatIf> what_if = q.profile.what_if(q.cycle);
  const std::uint32_t row = what_if->open(id);
  std::vector<PodPtr> potential;
  for (const PodPtr& pod : cluster.pods_on(id))
    if (pod->priority() < priority) potential.push_back(pod);
  if (potential.empty())
    return {Status::unresolvable("No preemption victims found for incoming pod")};
  for (const PodPtr& pod : potential) what_if->remove(row, pod);
  if (Status fits = q.profile.filter_with_nominated(q.cycle, *what_if, row, nominated); !fits.ok())
    return {std::move(fits)};

  sort_by_importance(potential, q.now);
  const std::vector<bool> violating = violations(potential, cluster.budgets());
  Dry found;
  found.candidate.node = cluster.node(id).name;
  // Give back whom we can: first those whose eviction would go beyond a budget.
  const auto reprieve = [&](const PodPtr& pod) {
    what_if->add(row, pod);
    if (q.profile.filter_with_nominated(q.cycle, *what_if, row, nominated).ok()) return true;
    what_if->remove(row, pod);
    found.candidate.victims.push_back(pod);
    return false;
  };
  for (std::size_t i = 0; i < potential.size(); ++i)
    if (violating[i] && !reprieve(potential[i])) ++found.candidate.budget_violations;
  for (std::size_t i = 0; i < potential.size(); ++i)
    if (!violating[i]) reprieve(potential[i]);
  sort_by_importance(found.candidate.victims, q.now);
  if (found.candidate.victims.empty())
    found.status =
        Status::error("expected at least one victim pod on node \"" + found.candidate.node + "\"");
  return found;
}

}  // namespace

std::vector<std::uint32_t> candidate_rows(const PreemptionQuestion& q) {
  std::vector<std::uint32_t> rows;
  if (q.diagnosis.prefilter && q.diagnosis.prefilter->code != Code::kUnschedulable) return rows;
  for (std::uint32_t row = 0; row < q.cycle.cluster.size(); ++row) {
    const Status& status = q.diagnosis.prefilter ? *q.diagnosis.prefilter : q.diagnosis.status(row);
    if (status.code == Code::kUnschedulable) rows.push_back(row);
  }
  return rows;
}

std::optional<std::string> not_eligible(const PreemptionQuestion& q) {
  const Pod& pod = preemptor_of(q);
  const ClusterState& cluster = q.cycle.cluster;
  if (pod.spec->never_preempts) return "not eligible due to preemptionPolicy=Never.";
  if (pod.nominated_node_name.empty()) return std::nullopt;
  const std::optional<std::uint32_t> row = cluster.row_of(pod.nominated_node_name);
  // Its node is gone, or will never do: look for another one.
  if (!row) return std::nullopt;
  const Status& status = q.diagnosis.prefilter ? *q.diagnosis.prefilter : q.diagnosis.status(*row);
  if (status.code == Code::kUnresolvable) return std::nullopt;
  for (const PodPtr& other : cluster.pods_on(cluster.node_id(pod.nominated_node_name)))
    if (other->priority() < pod.priority() && other->deleting && other->disrupted_by_scheduler)
      return "not eligible due to a terminating pod on the nominated node.";
  return std::nullopt;
}

namespace {
// How many candidates kube-scheduler looks for among so many nodes.
std::int64_t candidates_wanted(const PreemptionQuestion& q, std::int64_t nodes) {
  return std::min(nodes, std::max<std::int64_t>(nodes * q.args.min_candidate_nodes_percentage / 100,
                                                q.args.min_candidate_nodes_absolute));
}
}  // namespace

PreemptionAnswer find_candidates(const PreemptionQuestion& q) {
  const ClusterState& cluster = q.cycle.cluster;
  const std::vector<std::uint32_t> rows = candidate_rows(q);
  const auto count = static_cast<std::int64_t>(rows.size());
  std::int64_t wanted = count;
  std::size_t offset = 0;
  if (q.random != nullptr && count > 0) {
    wanted = candidates_wanted(q, count);
    offset = q.random->below(static_cast<std::uint64_t>(count));
  }
  PreemptionAnswer answer;
  if (q.scavengers != nullptr) {
    if (std::optional<LostWork> less =
            q.shrink_first ? pick_shrinks(q, rows, *q.scavengers) : std::nullopt) {
      answer.lost = std::make_shared<const LostWork>(*std::move(less));
      return answer;
    }
    if (std::optional<LostWork> least = pick_victims(q, rows, *q.scavengers)) {
      answer.candidates.push_back(least->candidate);
      answer.lost = std::make_shared<const LostWork>(*std::move(least));
      return answer;
    }
  }
  std::vector<PreemptionCandidate> violating;
  std::vector<std::string> errors;  // each once
  ReasonTable reasons;
  Diagnosis refused;
  refused.nodes = cluster.size();
  refused.by_row.assign(cluster.size(), ReasonId::kNone);
  refused.absent = Status::unresolvable("Preemption is not helpful for scheduling");
  refused.table = &reasons;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t row = rows[(offset + i) % rows.size()];
    Dry dry = dry_run(q, cluster.table().node[row]);
    if (dry.status.code == Code::kError &&
        std::find(errors.begin(), errors.end(), dry.status.message()) == errors.end())
      errors.push_back(dry.status.message());
    if (!dry.status.ok())
      refused.by_row[row] = reasons.id(dry.status.plugin, dry.status.code, dry.status.reasons);
    else if (dry.candidate.budget_violations > 0)
      violating.push_back(std::move(dry.candidate));
    else
      answer.candidates.push_back(std::move(dry.candidate));
    if (!answer.candidates.empty() &&
        static_cast<std::int64_t>(answer.candidates.size() + violating.size()) >= wanted)
      break;
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(answer.candidates));
  if (!answer.candidates.empty()) return answer;
  if (errors.empty())
    answer.status = Status::unschedulable(fit_error_text(refused, ""));
  else
    answer.status = Status::error(
        errors.size() == 1 ? errors.front() : fmt::format("[{}]", fmt::join(errors, ", ")));
  return answer;
}

std::optional<PreemptionCandidate> stock_choice(const PreemptionQuestion& q,
                                                std::span<const std::uint32_t> rows) {
  const auto wanted =
      static_cast<std::size_t>(candidates_wanted(q, static_cast<std::int64_t>(rows.size())));
  std::vector<PreemptionCandidate> found;
  bool harmless = false;
  for (const std::uint32_t row : rows) {
    Dry dry = dry_run(q, q.cycle.cluster.table().node[row]);
    if (!dry.status.ok()) continue;
    harmless |= dry.candidate.budget_violations == 0;
    found.push_back(std::move(dry.candidate));
    if (harmless && found.size() >= wanted) break;
  }
  if (found.empty()) return std::nullopt;
  return std::move(found[best_candidates(found, q.now).front()]);
}

std::vector<std::size_t> best_candidates(const std::vector<PreemptionCandidate>& candidates,
                                         WallTime now) {
  std::vector<std::size_t> best(candidates.size());
  std::iota(best.begin(), best.end(), 0);
  using Cost = std::function<std::int64_t(const PreemptionCandidate&)>;
  const Cost costs[] = {
      [](const PreemptionCandidate& c) { return c.budget_violations; },
      [](const PreemptionCandidate& c) -> std::int64_t { return c.victims.front()->priority(); },
      [](const PreemptionCandidate& c) {
        std::int64_t sum = 0;
        for (const PodPtr& pod : c.victims)
          sum += std::int64_t{pod->priority()} + (std::int64_t{1} << 31);
        return sum;
      },
      [](const PreemptionCandidate& c) { return static_cast<std::int64_t>(c.victims.size()); },
      // Where the longest-running of the most important victims has run the least.
      [now](const PreemptionCandidate& c) {
        std::int64_t earliest = started(*c.victims.front(), now);
        for (const PodPtr& pod : c.victims)
          if (pod->priority() == c.victims.front()->priority())
            earliest = std::min(earliest, started(*pod, now));
        return -earliest;
      },
  };
  for (const Cost& cost : costs) {
    if (best.size() <= 1) break;
    std::int64_t least = INT64_MAX;
    for (std::size_t i : best) least = std::min(least, cost(candidates[i]));
    best.erase(std::remove_if(best.begin(), best.end(),
                              [&](std::size_t i) { return cost(candidates[i]) != least; }),
               best.end());
  }
  return best;
}

}  // namespace berth::scheduler
