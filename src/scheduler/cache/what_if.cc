// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/what_if.h"

#include "base/check.h"

namespace berth::scheduler {
namespace {

bool take(std::vector<PodPtr>& from, const PodPtr& pod) {
  const auto at = std::find(from.begin(), from.end(), pod);
  if (at == from.end()) return false;
  from.erase(at);
  return true;
}

bool beyond_doubles(double amount) { return amount > double{1ull << 46}; }

}  // namespace

std::uint32_t WhatIf::open(NodeId id) {
  const std::optional<std::uint32_t> origin = cluster_.row_of(id);
  BERTH_CHECK(origin.has_value(), "a what-if about a node that is not there");
  const std::uint32_t row = scratch_.size();
  scratch_.resize(row + 1);
  scratch_.copy_row(cluster_.table(), *origin, row);
  moves_.emplace_back();
  return row;
}

void WhatIf::remove(std::uint32_t row, const PodPtr& pod) {
  if (!take(moves_[row].added, pod)) moves_[row].removed.push_back(pod);
  account(row, *pod, -1);
  if (moved_) moved_(*this, row, *pod, -1);
}

void WhatIf::add(std::uint32_t row, const PodPtr& pod) {
  if (!take(moves_[row].removed, pod)) moves_[row].added.push_back(pod);
  account(row, *pod, +1);
  if (moved_) moved_(*this, row, *pod, +1);
}

// balance_before stays the node's: scratch rows are filtered, never scored. The mark of host ports
// stays when their pod goes, as it only says where to look.
void WhatIf::account(std::uint32_t row, const Pod& pod, int sign) {
  const auto change = [&](std::vector<double>& column, std::int64_t by) {
    column[row] += static_cast<double>(sign * by);
    if (beyond_doubles(column[row])) scratch_.flags[row] |= row_flag::kWide;
  };
  const Resources& used = pod.used();
  change(scratch_.cpu_used, used.millicores);
  change(scratch_.memory_used, used.memory);
  change(scratch_.disk_used, used.disk);
  change(scratch_.cpu_nonzero, pod.used_nonzero_millicores());
  change(scratch_.memory_nonzero, pod.used_nonzero_memory());
  for (const auto& [name, amount] : used.scalars)
    if (const std::optional<ResourceId> id = cluster_.find_resource(name);
        id && index(*id) < scratch_.scalars.size())
      change(scratch_.scalars[index(*id)].second, amount);
  scratch_.pod_room[row] -= sign;
  if (sign > 0 && !pod.spec->host_ports.empty()) scratch_.flags[row] |= row_flag::kHasPorts;
}

NodeSums WhatIf::sums(std::uint32_t row) const {
  NodeSums sums = cluster_.sums(scratch_.node[row]);
  const auto change = [&sums](const Pod& pod, int sign) {
    sums.millicores += sign * pod.used().millicores;
    sums.memory += sign * pod.used().memory;
    sums.disk += sign * pod.used().disk;
    sums.nonzero_millicores += sign * pod.used_nonzero_millicores();
    sums.nonzero_memory += sign * pod.used_nonzero_memory();
  };
  for (const PodPtr& pod : moves_[row].removed) change(*pod, -1);
  for (const PodPtr& pod : moves_[row].added) change(*pod, +1);
  return sums;
}

std::int64_t WhatIf::scalar_used(std::uint32_t row, ResourceId id, std::string_view name) const {
  std::int64_t used = cluster_.scalar_used(scratch_.node[row], id);
  for (const PodPtr& pod : moves_[row].removed) used -= pod->used().scalar(name);
  for (const PodPtr& pod : moves_[row].added) used += pod->used().scalar(name);
  return used;
}

Rows WhatIf::row(std::uint32_t first, std::uint32_t count) const {
  Rows rows = scratch_.rows(cluster_, first, count);
  rows.what_if = this;
  return rows;
}

std::vector<std::int32_t>& WhatIf::deltas(std::uint32_t row, std::size_t slot) {
  std::vector<std::vector<std::int32_t>>& all = moves_[row].deltas;
  if (all.size() <= slot) all.resize(slot + 1);
  return all[slot];
}

std::span<const std::int32_t> WhatIf::deltas(std::uint32_t row, std::size_t slot) const {
  const std::vector<std::vector<std::int32_t>>& all = moves_[row].deltas;
  return slot < all.size() ? std::span<const std::int32_t>(all[slot])
                           : std::span<const std::int32_t>();
}

}  // namespace berth::scheduler
