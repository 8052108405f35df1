// SPDX-License-Identifier: Apache-2.0
// PreScore, Score and NormalizeScore of InterPodAffinity.
#include <algorithm>

#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth::scheduler::inter_pod_affinity {

bool InterPodAffinity::skips_score(const Cycle& cycle, const State& state) const {
  const PodAffinity& affinity = cycle.pod.spec->affinity;
  const bool prefers = !affinity.preferred.empty() || !affinity.preferred_anti.empty();
  return (args_.ignore_preferred_terms_of_existing_pods && !prefers) || !state.scores;
}

Status InterPodAffinity::prepare_score(Cycle& cycle, const FeasibleSummary&) const {
  const std::string& error = cycle.pod.spec->affinity.error;
  if (!error.empty()) return Status::error("failed to parse pod: " + error);
  if (cycle.state<State>(slot()) == nullptr) cycle.emplace_state<State>(slot()) = gather(cycle);
  return skips_score(cycle, *cycle.state<State>(slot())) ? Status::skip() : Status();
}

Status InterPodAffinity::score(const Cycle& cycle, const Rows& rows, const RowSet& of,
                               std::span<std::int64_t> raw) const {
  State made;
  const State& state = state_of(cycle, made);
  of.for_each([&](std::uint32_t row) { raw[row] = 0; });
  std::vector<std::int64_t> by_domain;
  for (const KeyTerms& terms : state.keys) {
    if (terms.score.empty()) continue;
    const DomainId* domains = rows.domain(terms.key);
    const std::uint32_t count = cycle.cluster.domains(terms.key);
    if (count > rows.size) {
      of.for_each([&](std::uint32_t row) { raw[row] += terms.points(domains[row]); });
      continue;
    }
    by_domain.resize(count);
    for (std::uint32_t d = 0; d < count; ++d) by_domain[d] = terms.points(static_cast<DomainId>(d));
    of.for_each([&](std::uint32_t row) {
      if (domains[row] != DomainId::kNone) raw[row] += by_domain[index(domains[row])];
    });
  }
  return {};
}

void InterPodAffinity::normalize(const Cycle&, std::span<std::int64_t> values) const {
  if (values.empty()) return;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::int64_t from = *least, width = *most - *least;
  for (std::int64_t& value : values)
    value = width > 0 ? static_cast<std::int64_t>(100.0 * (static_cast<double>(value - from) /
                                                           static_cast<double>(width)))
                      : 0;
}

}  // namespace berth::scheduler::inter_pod_affinity
