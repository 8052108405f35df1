// SPDX-License-Identifier: Apache-2.0
// Nodes, the order of their rows, and the journal of what changed.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "scheduler/cache/balance.h"
#include "scheduler/cache/cluster_state.h"

namespace berth::scheduler {
namespace {

// Doubles hold integers exactly up to 2^53; quotients of percent are exact up to here.
constexpr std::int64_t kWide = std::int64_t{1} << 46;

bool wide(std::int64_t amount) { return amount > kWide || amount < -kWide; }

}  // namespace

void ClusterState::put_node(NodePtr node) {
  const NodeId id = slot_named(node->name);
  if (!slot(id).node) {
    new_node(id, std::move(node));
    return;
  }
  const NodePtr before = slot(id).node;
  const bool relabelled = *before->labels != *node->labels;
  const bool retainted = before->taints != node->taints;
  if (before->images != node->images) {
    leave_images(id, *before);
    enter_images(id, *node);
  }
  if (before->zone_key != node->zone_key) {
    // k8s 1.36: the rows keep their order until a node joins or leaves.
    leave_zone(id, before->zone_key);
    join_zone(id, node->zone_key);
  }
  if (relabelled || retainted) enter_counters(id, -1);
  if (retainted) {
    const TaintSetId old = slot(id).taints;
    slot(id).taints = enter_taints(node->taints);
    leave_taints(old);
  }
  slot(id).node = std::move(node);
  if (relabelled) {
    leave_domains(id);
    enter_domains(id, *slot(id).node);
    update_matches(id, slot(id).node.get());
  }
  if (relabelled || retainted) {
    update_eligibility(id, slot(id).node.get());
    enter_counters(id, +1);
  }
  touch(id, row_change::kObject);
}

void ClusterState::new_node(NodeId id, NodePtr node) {
  NodeSlot& added = slot(id);
  added.node = std::move(node);
  added.taints = enter_taints(added.node->taints);
  enter_images(id, *added.node);
  enter_domains(id, *added.node);
  update_matches(id, added.node.get());
  update_eligibility(id, added.node.get());
  enter_tallies(id, +1);
  enter_counters(id, +1);
  for (const PodPtr& pod : added.pods) account_claims(*pod, +1);
  join_zone(id, added.node->zone_key);
  layout_stale_ = true;
  touch(id, row_change::kObject);
}

void ClusterState::remove_node(std::string_view name) {
  const NodeId id = node_id(name);
  if (id == NodeId::kNone || !slot(id).node) return;
  NodeSlot& gone = slot(id);
  for (const PodPtr& pod : gone.pods) account_claims(*pod, -1);
  enter_counters(id, -1);
  enter_tallies(id, -1);
  leave_zone(id, gone.node->zone_key);
  leave_domains(id);
  update_matches(id, nullptr);
  update_eligibility(id, nullptr);
  leave_images(id, *gone.node);
  leave_taints(gone.taints);
  gone.taints = TaintSetId::kNone;
  gone.row = kNoRow;
  gone.node = nullptr;
  layout_stale_ = true;
  release_slot(id);
}

void ClusterState::join_zone(NodeId id, const std::string& zone) {
  auto at = std::find_if(zones_.begin(), zones_.end(),
                         [&](const auto& entry) { return entry.first == zone; });
  if (at == zones_.end()) at = zones_.insert(at, {zone, {}});
  at->second.push_back(id);
}

void ClusterState::leave_zone(NodeId id, const std::string& zone) {
  const auto at = std::find_if(zones_.begin(), zones_.end(),
                               [&](const auto& entry) { return entry.first == zone; });
  BERTH_CHECK(at != zones_.end(), "a node is in its zone");
  at->second.erase(std::find(at->second.begin(), at->second.end(), id));
  if (at->second.empty()) zones_.erase(at);
}

void ClusterState::touch(NodeId id, RowChanges changes) {
  NodeSlot& changed = slot(id);
  if (!changed.node) return;
  if (!changed.touched) {
    changed.touched = true;
    touched_.push_back(id);
  }
  if (layout_stale_) return;  // every row is about to be filled anew
  fill_row(changed.row);
  write_journal(changed.row, changes);
}

void ClusterState::begin_cycle() {
  if (layout_stale_) rebuild_layout();
  for (NodeId id : touched_) {
    NodeSlot& changed = slot(id);
    changed.touched = false;
    if (changed.node) freeze_images(changed);
  }
  touched_.clear();
}

void ClusterState::rebuild_layout() {
  std::vector<NodeId> order;
  std::size_t longest = 0;
  for (const auto& [zone, nodes] : zones_) longest = std::max(longest, nodes.size());
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& [zone, nodes] : zones_)
      if (i < nodes.size()) order.push_back(nodes[i]);

  const auto count = static_cast<std::uint32_t>(order.size());
  table_.resize(count);
  for (std::uint32_t row = 0; row < count; ++row) {
    slot(order[row]).row = row;
    table_.node[row] = order[row];
    fill_row(row);
  }
  const std::uint32_t capacity = std::bit_ceil(std::max<std::uint32_t>(count, 64));
  journal_.resize(capacity);
  journal_rows_.assign(capacity, 0);
  journal_changes_.assign(capacity, 0);
  last_entry_.assign(count, kNoEntry);
  journal_start_ = journal_end_;
  layout_stale_ = false;
  ++layout_epoch_;
}

void ClusterState::fill_row(std::uint32_t row) {
  const NodeId id = table_.node[row];
  const NodeSlot& from = slot(id);
  const Node& node = *from.node;
  table_.cpu_alloc[row] = static_cast<double>(node.allocatable.millicores);
  table_.cpu_used[row] = static_cast<double>(from.sums.millicores);
  table_.cpu_nonzero[row] = static_cast<double>(from.sums.nonzero_millicores);
  table_.memory_alloc[row] = static_cast<double>(node.allocatable.memory);
  table_.memory_used[row] = static_cast<double>(from.sums.memory);
  table_.memory_nonzero[row] = static_cast<double>(from.sums.nonzero_memory);
  table_.disk_alloc[row] = static_cast<double>(node.allocatable.disk);
  table_.disk_used[row] = static_cast<double>(from.sums.disk);
  const std::int64_t room = node.allowed_pods - static_cast<std::int64_t>(from.pods.size());
  table_.pod_room[row] =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(room, INT32_MIN, INT32_MAX));
  table_.balance_before[row] = balance_of(table_.cpu_used[row], table_.cpu_alloc[row],
                                          table_.memory_used[row], table_.memory_alloc[row]);
  table_.taints[row] = from.taints;
  bool is_wide = wide(node.allocatable.millicores) || wide(node.allocatable.memory) ||
                 wide(node.allocatable.disk) || wide(from.sums.memory) || wide(from.sums.disk) ||
                 wide(from.sums.nonzero_memory) || wide(from.sums.millicores);
  for (std::size_t k = 0; k < keys_.size(); ++k)
    table_.domains[k][row] = domain_of(static_cast<TopologyKeyId>(k), id);
  if (!table_.scalars.empty()) {
    for (auto& [alloc, used] : table_.scalars) alloc[row] = used[row] = 0;
    for (const auto& [name, amount] : node.allocatable.scalars) {
      table_.scalars[index(resource(name))].first[row] = static_cast<double>(amount);
      is_wide = is_wide || wide(amount);
    }
    for (const auto& [resource_id, amount] : from.scalars) {
      table_.scalars[index(resource_id)].second[row] = static_cast<double>(amount);
      is_wide = is_wide || wide(amount);
    }
  }
  table_.flags[row] = (node.unschedulable ? row_flag::kUnschedulable : 0) |
                      (from.ports > 0 ? row_flag::kHasPorts : 0) | (is_wide ? row_flag::kWide : 0);
}

void ClusterState::write_journal(std::uint32_t row, RowChanges changes) {
  const std::uint64_t last = journal_.size() - 1, at = journal_end_ & last;
  if (last_entry_[row] != kNoEntry && journal_end_ - last_entry_[row] <= last)
    journal_changes_[last_entry_[row] & last] |= row_change::kSuperseded;
  journal_.copy_row(table_, row, static_cast<std::uint32_t>(at));
  journal_rows_[at] = row;
  journal_changes_[at] = changes;
  last_entry_[row] = journal_end_++;
}

std::uint64_t ClusterState::journal_begin() const {
  const std::uint64_t kept = journal_.size();
  return std::max(journal_start_, journal_end_ > kept ? journal_end_ - kept : 0);
}

ClusterState::JournalBlock ClusterState::journal_from(std::uint64_t entry,
                                                      std::uint32_t most) const {
  BERTH_CHECK(entry >= journal_begin() && entry < journal_end_);
  const std::uint64_t ring = journal_.size(), at = entry & (ring - 1);
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({journal_end_ - entry, most, ring - at}));
  return {journal_.rows(*this, static_cast<std::uint32_t>(at), count), &journal_rows_[at],
          &journal_changes_[at]};
}

std::optional<std::uint32_t> ClusterState::row_of(NodeId id) const {
  if (index(id) >= slots_.size()) return std::nullopt;
  const std::uint32_t row = slots_[index(id)].row;
  return row == kNoRow ? std::nullopt : std::optional(row);
}

std::optional<std::uint32_t> ClusterState::row_of(std::string_view name) const {
  const NodeId id = node_id(name);
  return id == NodeId::kNone ? std::nullopt : row_of(id);
}

std::vector<std::string> ClusterState::node_order() const {
  std::vector<std::string> names;
  names.reserve(table_.size());
  for (NodeId id : table_.node) names.push_back(slots_[index(id)].name);
  return names;
}

}  // namespace berth::scheduler
