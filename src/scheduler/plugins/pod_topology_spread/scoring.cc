// SPDX-License-Identifier: Apache-2.0
// PreScore, Score and NormalizeScore of PodTopologySpread.
#include <algorithm>
#include <limits>

#include "scheduler/plugins/pod_topology_spread/go_log.h"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth::scheduler::pod_topology_spread {
namespace {

// Columns of domains, one a soft constraint.
std::vector<const DomainId*> columns(const Part& part, const Rows& rows) {
  std::vector<const DomainId*> all;
  for (const Constraint& c : part.soft) all.push_back(rows.domain(c.key));
  return all;
}

bool ignored(const Part& part, const std::vector<const DomainId*>& domains, std::uint32_t row) {
  return part.require_all && std::any_of(domains.begin(), domains.end(), [&](const DomainId* of) {
           return of[row] == DomainId::kNone;
         });
}

}  // namespace

Scale scale_of(const ClusterState& cluster, const Part& part, const Constraint& c,
               std::uint32_t values) {
  Scale scale{go_log(static_cast<double>(values) + 2)};
  if (c.hostname || part.require_all) return scale;
  scale.blank_domain = cluster.domain_named(c.key, "");
  if (scale.blank_domain == DomainId::kNone) return scale;
  const Rows rows = cluster.rows();
  const DomainId* domains = rows.domain(c.key);
  for (std::uint32_t row = 0; row < rows.size; ++row)
    if (domains[row] == DomainId::kNone && c.counter->eligible(rows.node[row]))
      scale.blank_pods += c.set->pods().on(rows.node[row]);
  return scale;
}

std::vector<ValueCount> value_counts(const ClusterState& cluster, const Part& part) {
  std::vector<ValueCount> all;
  for (const Constraint& c : part.soft)
    all.emplace_back(c.hostname ? DomainId::kNone : cluster.domain_named(c.key, ""));
  return all;
}

Status PodTopologySpread::prepare_score(Cycle& cycle, const FeasibleSummary& feasible) const {
  if (const std::string& error = cycle.pod.spec->spread_error; !error.empty())
    return Status::error(
        "calculating preScoreState: obtaining pod's soft topology spread constraints: " + error);
  const Part& of = part(cycle);
  if (of.soft.empty() || cycle.cluster.size() == 0) return Status::skip();
  const auto domains = columns(of, feasible.rows);
  std::vector<ValueCount> values = value_counts(cycle.cluster, of);
  std::uint32_t scored = 0;
  feasible.feasible.for_each([&](std::uint32_t row) {
    if (ignored(of, domains, row)) return;
    ++scored;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!of.soft[i].hostname) values[i].add(domains[i][row]);
  });
  State& state = cycle.emplace_state<State>(slot());
  for (std::size_t i = 0; i < values.size(); ++i)
    state.scales.push_back(
        scale_of(cycle.cluster, of, of.soft[i], of.soft[i].hostname ? scored : values[i].count()));
  return {};
}

Status PodTopologySpread::score(const Cycle& cycle, const Rows& rows, const RowSet& of,
                                std::span<std::int64_t> raw) const {
  const State* state = cycle.state<State>(slot());
  if (state == nullptr)
    return Status::error("error reading \"PreScorePodTopologySpread\" from cycleState: not found");
  const Part& shape = part(cycle);
  const auto domains = columns(shape, rows);
  of.for_each([&](std::uint32_t row) {
    if (ignored(shape, domains, row)) {
      raw[row] = kIgnored;
      return;
    }
    double score = 0;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const DomainId domain = domains[i][row];
      if (domain == DomainId::kNone) continue;
      const Constraint& c = shape.soft[i];
      const Scale& scale = state->scales[i];
      score = with_count(score,
                         c.hostname ? c.set->pods().on(rows.node[row]) : pods_in(c, scale, domain),
                         scale.weight, c.max_skew);
    }
    raw[row] = rounded(score);
  });
  return {};
}

void PodTopologySpread::normalize(const Cycle&, std::span<std::int64_t> values) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const std::int64_t value : values) {
    if (value == kIgnored) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  for (std::int64_t& value : values) {
    if (value == kIgnored)
      value = 0;
    else
      value = most == 0 ? 100 : 100 * (most + least - value) / most;
  }
}

}  // namespace berth::scheduler::pod_topology_spread
