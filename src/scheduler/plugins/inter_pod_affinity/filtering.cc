// SPDX-License-Identifier: Apache-2.0
// PreFilter, Filter and what-ifs of InterPodAffinity.
#include <algorithm>

#include "scheduler/cache/what_if.h"
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth::scheduler::inter_pod_affinity {
namespace {

// Where things stand in a row's deltas; pairs (key, holders) follow from kAntiAt + anti terms on.
constexpr std::size_t kRequiredAt = 0;
constexpr std::size_t kUnknownKeyAt = 1;  // holders under keys that no pod on a node uses
constexpr std::size_t kAntiAt = 2;

std::int32_t unwelcome_under(std::span<const std::int32_t> pairs, TopologyKeyId key) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == static_cast<std::int32_t>(index(key))) return pairs[i + 1];
  return 0;
}

}  // namespace

PreFilterResult InterPodAffinity::prepare(Cycle& cycle) const {
  const PodAffinity& affinity = cycle.pod.spec->affinity;
  if (!affinity.error.empty()) return {Status::unresolvable("parsing pod: " + affinity.error)};
  State& state = cycle.emplace_state<State>(slot());
  state = gather(cycle);
  if (!state.unwelcome && affinity.required.empty() && affinity.required_anti.empty())
    return PreFilterResult::skip();
  return {};
}

bool InterPodAffinity::first(const Cycle& cycle, std::int32_t moved) const {
  const Part& own = part(cycle);
  return own.matches_itself &&
         std::all_of(own.required.begin(), own.required.end(),
                     [&](const CounterPtr& counter) { return counter->total() + moved == 0; });
}

// Every domain that changed is one that the node is in.
Bits InterPodAffinity::bits_if(const Cycle& cycle, const State& state, const Rows& rows,
                               std::uint32_t row, std::span<const std::int32_t> deltas) const {
  const std::size_t antis = part(cycle).anti.size();
  const auto pairs = deltas.subspan(kAntiAt + antis);
  Deltas of{deltas[kRequiredAt], deltas.subspan(kAntiAt, antis)};
  Bits bits = deltas[kUnknownKeyAt] > 0 ? kUnwelcome : Bits{0};
  for (const KeyTerms& terms : state.keys) {
    of.unwelcome = unwelcome_under(pairs, terms.key);
    bits |= terms.bits(rows.domain(terms.key)[row], of);
  }
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const bool seen = std::any_of(state.keys.begin(), state.keys.end(), [&](const KeyTerms& terms) {
      return static_cast<std::int32_t>(index(terms.key)) == pairs[i];
    });
    if (!seen && pairs[i + 1] > 0) bits |= kUnwelcome;
  }
  return bits;
}

Status InterPodAffinity::filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                                Rejections* why) const {
  State made;
  const State& state = state_of(cycle, made);
  const auto settle = [&](std::uint32_t row, Fit fit) {
    if (fit == Fit::kYes) return;
    keep.erase(row);
    if (why != nullptr) why->reject(row, reasons_[static_cast<std::size_t>(fit)]);
  };
  const bool is_first = first(cycle);
  if (rows.what_if != nullptr) {
    keep.for_each([&](std::uint32_t row) {
      const auto deltas = rows.what_if->deltas(rows.begin + row, slot());
      if (!deltas.empty())
        return settle(row, fit_of(bits_if(cycle, state, rows, row, deltas),
                                  first(cycle, deltas[kRequiredAt])));
      Bits bits = 0;
      for (const KeyTerms& terms : state.keys) bits |= terms.bits(rows.domain(terms.key)[row]);
      settle(row, fit_of(bits, is_first));
    });
    return {};
  }
  std::vector<Bits> by_row(rows.size);
  std::vector<Bits> by_domain;
  for (const KeyTerms& terms : state.keys) {
    const DomainId* domains = rows.domain(terms.key);
    const std::uint32_t count = cycle.cluster.domains(terms.key);
    if (count > rows.size) {  // a small block: look up what is asked about
      keep.for_each([&](std::uint32_t row) { by_row[row] |= terms.bits(domains[row]); });
      continue;
    }
    by_domain.resize(count);
    for (std::uint32_t d = 0; d < count; ++d) by_domain[d] = terms.bits(static_cast<DomainId>(d));
    const Bits missing = terms.bits(DomainId::kNone);
    for (std::uint32_t row = 0; row < rows.size; ++row)
      by_row[row] |= domains[row] == DomainId::kNone ? missing : by_domain[index(domains[row])];
  }
  keep.for_each([&](std::uint32_t row) { settle(row, fit_of(by_row[row], is_first)); });
  return {};
}

void InterPodAffinity::moved(const Cycle& cycle, const Rows& rows, std::uint32_t row,
                             const Pod& pod, int sign, std::vector<std::int32_t>& deltas) const {
  const Part& own = part(cycle);
  if (deltas.empty()) deltas.resize(kAntiAt + own.anti.size());
  if (own.required_set && cycle.cluster.contains(*own.required_set, pod))
    deltas[kRequiredAt] += sign;
  for (std::size_t i = 0; i < own.anti.size(); ++i)
    if (cycle.cluster.contains(*own.anti[i].set, pod)) deltas[kAntiAt + i] += sign;

  const Node& node = cycle.cluster.node(rows.node[row]);
  const Labels& ns_labels = cycle.cluster.namespace_labels(cycle.pod.ns);
  for (const AffinityTerm& term : pod.spec->affinity.required_anti) {
    if (!node.labels->has(term.topology_key)) continue;
    if (!selects(term, pod.ns, cycle.pod, ns_labels)) continue;
    const auto known = cycle.cluster.find_topology_key(term.topology_key);
    if (!known) {
      deltas[kUnknownKeyAt] += sign;
      continue;
    }
    const auto key = static_cast<std::int32_t>(index(*known));
    std::size_t at = kAntiAt + own.anti.size();
    while (at < deltas.size() && deltas[at] != key) at += 2;
    if (at == deltas.size()) deltas.insert(deltas.end(), {key, 0});
    deltas[at + 1] += sign;
  }
}

}  // namespace berth::scheduler::inter_pod_affinity
