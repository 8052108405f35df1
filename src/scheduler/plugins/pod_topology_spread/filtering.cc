// SPDX-License-Identifier: Apache-2.0
// PreFilter, Filter and what-ifs of PodTopologySpread.
#include <algorithm>

#include "scheduler/cache/what_if.h"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth::scheduler::pod_topology_spread {

PreFilterResult PodTopologySpread::prepare(Cycle& cycle) const {
  if (const std::string& error = cycle.pod.spec->spread_error; !error.empty())
    return {Status::error(
        "get constraints from pod: obtaining pod's hard topology spread constraints: " + error)};
  return part(cycle).hard.empty() ? PreFilterResult::skip() : PreFilterResult{};
}

Status PodTopologySpread::filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                                 Rejections* why) const {
  const std::vector<Constraint>& hard = part(cycle).hard;
  for (std::size_t i = 0; i < hard.size(); ++i) {
    const Constraint& c = hard[i];
    const DomainId* domains = rows.domain(c.key);
    const std::int32_t least = least_match(c);
    const auto settle = [&](std::uint32_t row, std::int32_t count, std::int32_t least_now) {
      if (skew_allows(count, c.self, least_now, c.max_skew)) return;
      keep.erase(row);
      if (why != nullptr) why->reject(row, skewed_);
    };
    keep.for_each([&](std::uint32_t row) {
      const DomainId domain = domains[row];
      if (domain == DomainId::kNone) {
        keep.erase(row);
        if (why != nullptr) why->reject(row, unlabelled_);
        return;
      }
      const std::int32_t count = c.counter->at(domain);
      if (rows.what_if != nullptr)
        if (const auto deltas = rows.what_if->deltas(rows.begin + row, slot());
            !deltas.empty() && deltas[i] != 0)
          return settle(row, count + deltas[i], least_match_if(c, domain, count + deltas[i]));
      settle(row, count, least);
    });
  }
  return {};
}

// k8s 1.36: unlike in PreFilter, terminating pods count, and {} counts every pod.
void PodTopologySpread::moved(const Cycle& cycle, const Rows& rows, std::uint32_t row,
                              const Pod& pod, int sign, std::vector<std::int32_t>& deltas) const {
  if (pod.ns != cycle.pod.ns) return;
  const std::vector<Constraint>& hard = part(cycle).hard;
  deltas.resize(hard.size());
  for (std::size_t i = 0; i < hard.size(); ++i)
    if (hard[i].counter->eligible(rows.node[row]) && matches(hard[i].selector, *pod.labels))
      deltas[i] += sign;
}

}  // namespace berth::scheduler::pod_topology_spread
