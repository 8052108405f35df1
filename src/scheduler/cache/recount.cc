// SPDX-License-Identifier: Apache-2.0
// Everything counted anew, to check what events have kept.
#include <fmt/format.h>

#include "scheduler/cache/cluster_state.h"

namespace berth::scheduler {
namespace {

bool same_row(const Columns& a, std::uint32_t at, const Columns& b, std::uint32_t row) {
  const auto same = [&](const auto& x, const auto& y) { return x[at] == y[row]; };
  bool all = same(a.node, b.node) && same(a.cpu_alloc, b.cpu_alloc) &&
             same(a.cpu_used, b.cpu_used) && same(a.cpu_nonzero, b.cpu_nonzero) &&
             same(a.memory_alloc, b.memory_alloc) && same(a.memory_used, b.memory_used) &&
             same(a.memory_nonzero, b.memory_nonzero) && same(a.disk_alloc, b.disk_alloc) &&
             same(a.disk_used, b.disk_used) && same(a.pod_room, b.pod_room) &&
             same(a.balance_before, b.balance_before) && same(a.taints, b.taints) &&
             same(a.flags, b.flags);
  for (std::size_t k = 0; k < a.domains.size(); ++k) all = all && same(a.domains[k], b.domains[k]);
  for (std::size_t r = 0; r < a.scalars.size(); ++r)
    all = all && same(a.scalars[r].first, b.scalars[r].first) &&
          same(a.scalars[r].second, b.scalars[r].second);
  return all;
}

}  // namespace

std::string ClusterState::recount() const {
  const auto fresh = clone();
  fresh->begin_cycle();
  Columns copy;
  copy.match_layout(table_);
  copy.resize(1);
  for (const auto& [name, id] : by_name_) {
    const NodeSlot& mine = slots_[index(id)];
    const NodeSlot& theirs = fresh->slots_[index(fresh->node_id(name))];
    const auto same = [&](const NodeSums& a, const NodeSums& b) {
      return a.millicores == b.millicores && a.memory == b.memory && a.disk == b.disk &&
             a.nonzero_millicores == b.nonzero_millicores && a.nonzero_memory == b.nonzero_memory;
    };
    if (!same(mine.sums, theirs.sums)) return fmt::format("node {}: sums of its pods", name);
    if (mine.ports != theirs.ports) return fmt::format("node {}: host ports", name);
    for (const auto& [resource_name, resource_id] : resource_ids_) {
      const auto other = fresh->find_resource(resource_name);
      if (scalar_used(id, resource_id) !=
          (other ? fresh->scalar_used(fresh->node_id(name), *other) : 0))
        return fmt::format("node {}: {}", name, resource_name);
    }
    if (!mine.node || layout_stale_) continue;
    const std::uint32_t row = mine.row;
    copy.copy_row(table_, row, 0);
    const_cast<ClusterState*>(this)->fill_row(row);  // writes what must already stand there
    if (!same_row(copy, 0, table_, row)) return fmt::format("node {}: its row", name);
  }
  if (claims_ != fresh->claims_) return "claims in use";
  for (const auto& [text, weak] : sets_) {
    const auto set = weak.lock();
    if (!set) continue;
    const PodSetPtr again = fresh->pod_set(set->spec());
    if (set->tally_.total != again->tally_.total) return fmt::format("set {}: its total", text);
    for (const auto& [name, id] : by_name_)
      if (set->tally_.on(id) != again->tally_.on(fresh->node_id(name)))
        return fmt::format("set {}: pods on {}", text, name);
  }
  for (const DomainCounter* counter : counters_) {
    DomainCounter again;
    again.key_ = counter->key_;
    again.eligibility_ = counter->eligibility_;
    again.tally_ = counter->tally_;
    const_cast<ClusterState*>(this)->fill_counter(again);
    if (counter->eligibility_)
      for (std::uint32_t n = 0; n < slots_.size(); ++n)
        if (counter->eligibility_->has(static_cast<NodeId>(n)) !=
            eligible(counter->eligibility_->spec_, static_cast<NodeId>(n)))
          return fmt::format("eligibility of {}", slots_[n].name);
    const std::string key = keys_[index(counter->key_)].label;
    if (again.total_ != counter->total_) return fmt::format("counter by {}: its total", key);
    if (again.present_ != counter->present_) return fmt::format("counter by {}: its domains", key);
    if (counter->eligibility_ && again.least_ != counter->least_)
      return fmt::format("counter by {}: its least", key);
    for (std::uint32_t d = 0; d < domains(counter->key_); ++d)
      if (again.at(static_cast<DomainId>(d)) != counter->at(static_cast<DomainId>(d)))
        return fmt::format("counter by {}: a domain", key);
  }
  for (const auto& [text, weak] : held_tallies_) {
    const auto held = weak.lock();
    if (!held) continue;
    const auto found = fresh->held_tallies_.find(text);
    const auto again = found == fresh->held_tallies_.end() ? nullptr : found->second.lock();
    if (!again || held->pods != again->pods) return fmt::format("holders of {}", text);
    for (const auto& [name, id] : by_name_)
      if (held->tally.on(id) != again->tally.on(fresh->node_id(name)))
        return fmt::format("holders of {} on {}", text, name);
  }
  return {};
}

}  // namespace berth::scheduler
