// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity for groups of nodes. A node's own part: the bits of keys that are its alone in
// the lowest byte, their points above.
#include "base/check.h"
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth::scheduler::inter_pod_affinity {
namespace {

constexpr unsigned kBitsWide = 8;

Bits bits_of(std::uint64_t own) { return static_cast<Bits>(own & 0xff); }
std::int64_t points_of(std::uint64_t own) { return static_cast<std::int64_t>(own) >> kBitsWide; }

const DomainId* column(const GroupRows& groups, TopologyKeyId key) {
  const DomainId* domains = groups.domain(key);
  BERTH_CHECK(domains != nullptr, "groups were made without a key in use");
  return domains;
}

}  // namespace

void InterPodAffinity::keys(const Cycle& cycle, std::vector<TopologyKeyId>& out) const {
  State made;
  for (const KeyTerms& terms : state_of(cycle, made).keys)
    if (!cycle.cluster.unique(terms.key)) out.push_back(terms.key);
}

void InterPodAffinity::own_part(const Cycle& cycle, const Rows& rows,
                                std::span<std::uint64_t> own) const {
  State made;
  const State& state = state_of(cycle, made);
  std::fill(own.begin(), own.end(), 0);
  for (const KeyTerms& terms : state.keys) {
    if (!cycle.cluster.unique(terms.key)) continue;
    const DomainId* domains = rows.domain(terms.key);
    for (std::uint32_t row = 0; row < rows.size; ++row) {
      const Bits bits = bits_of(own[row]) | terms.bits(domains[row]);
      const std::int64_t points = points_of(own[row]) + terms.points(domains[row]);
      own[row] = static_cast<std::uint64_t>(points) << kBitsWide | bits;
    }
  }
}

RowChanges InterPodAffinity::own_part_changes(const Cycle& cycle) const {
  State made;
  RowChanges changes = row_change::kObject;
  for (const KeyTerms& terms : state_of(cycle, made).keys) {
    if (!cycle.cluster.unique(terms.key)) continue;
    if (terms.required != nullptr) changes |= terms.required->change();
    for (const auto& [counter, place] : terms.anti) changes |= counter->change();
    for (const DomainCounter* counter : terms.unwelcome) changes |= counter->change();
    for (const auto& [counter, weight] : terms.score) changes |= counter->change();
  }
  return changes;
}

void InterPodAffinity::judge(const Cycle& cycle, const GroupRows& groups,
                             std::span<std::uint8_t> pass) const {
  State made;
  const State& state = state_of(cycle, made);
  std::vector<Bits> bits(groups.size);
  for (std::uint32_t g = 0; g < groups.size; ++g) bits[g] = bits_of(groups.own[g]);
  for (const KeyTerms& terms : state.keys) {
    if (cycle.cluster.unique(terms.key)) continue;
    const DomainId* domains = column(groups, terms.key);
    for (std::uint32_t g = 0; g < groups.size; ++g) bits[g] |= terms.bits(domains[g]);
  }
  const bool is_first = first(cycle);
  for (std::uint32_t g = 0; g < groups.size; ++g)
    if (fit_of(bits[g], is_first) != Fit::kYes) pass[g] = 0;
}

bool InterPodAffinity::raw(Cycle& cycle, const GroupSummary& summary,
                           std::span<std::int64_t> raw) const {
  State made;
  const State& state = state_of(cycle, made);
  if (skips_score(cycle, state)) return false;
  const GroupRows& groups = summary.groups;
  for (std::uint32_t g = 0; g < groups.size; ++g) raw[g] = points_of(groups.own[g]);
  for (const KeyTerms& terms : state.keys) {
    if (terms.score.empty() || cycle.cluster.unique(terms.key)) continue;
    const DomainId* domains = column(groups, terms.key);
    for (std::uint32_t g = 0; g < groups.size; ++g) raw[g] += terms.points(domains[g]);
  }
  return true;
}

}  // namespace berth::scheduler::inter_pod_affinity
