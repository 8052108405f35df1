// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/columns.h"

#include "base/check.h"

namespace berth::scheduler {
namespace {

// Calls f(column) for every column that every table has.
template <class Table, class F>
void for_each_plain_column(Table& table, F&& f) {
  f(table.node);
  f(table.cpu_alloc);
  f(table.cpu_used);
  f(table.cpu_nonzero);
  f(table.memory_alloc);
  f(table.memory_used);
  f(table.memory_nonzero);
  f(table.disk_alloc);
  f(table.disk_used);
  f(table.pod_room);
  f(table.balance_before);
  f(table.taints);
  f(table.flags);
}

}  // namespace

void Columns::resize(std::uint32_t rows) {
  for_each_plain_column(*this, [rows](auto& column) { column.resize(rows); });
  for (std::vector<DomainId>& column : domains) column.resize(rows, DomainId::kNone);
  for (auto& [alloc, used] : scalars) {
    alloc.resize(rows);
    used.resize(rows);
  }
}

void Columns::add_key() { domains.emplace_back(size(), DomainId::kNone); }

void Columns::add_scalar() {
  scalars.emplace_back(std::vector<double>(size()), std::vector<double>(size()));
}

void Columns::match_layout(const Columns& of) {
  while (domains.size() < of.domains.size()) add_key();
  while (scalars.size() < of.scalars.size()) add_scalar();
}

void Columns::copy_row(const Columns& from, std::uint32_t row, std::uint32_t to) {
  BERTH_CHECK(row < from.size() && to < size());
  // Every change of a row comes through here: the columns are checked once, above.
  const auto copy = [row, to](auto& into, const auto& out_of) {
    into.data()[to] = out_of.data()[row];
  };
  copy(node, from.node);
  copy(cpu_alloc, from.cpu_alloc);
  copy(cpu_used, from.cpu_used);
  copy(cpu_nonzero, from.cpu_nonzero);
  copy(memory_alloc, from.memory_alloc);
  copy(memory_used, from.memory_used);
  copy(memory_nonzero, from.memory_nonzero);
  copy(disk_alloc, from.disk_alloc);
  copy(disk_used, from.disk_used);
  copy(pod_room, from.pod_room);
  copy(balance_before, from.balance_before);
  copy(taints, from.taints);
  copy(flags, from.flags);
  for (std::size_t key = 0; key < from.domains.size(); ++key) copy(domains[key], from.domains[key]);
  for (std::size_t id = 0; id < from.scalars.size(); ++id) {
    copy(scalars[id].first, from.scalars[id].first);
    copy(scalars[id].second, from.scalars[id].second);
  }
}

Rows Columns::rows(const ClusterState& cluster, std::uint32_t begin, std::uint32_t count) const {
  BERTH_CHECK(begin <= size() && count <= size() - begin);
  Rows rows;
  rows.size = count;
  rows.node = node.data() + begin;
  rows.cpu_alloc = cpu_alloc.data() + begin;
  rows.cpu_used = cpu_used.data() + begin;
  rows.cpu_nonzero = cpu_nonzero.data() + begin;
  rows.memory_alloc = memory_alloc.data() + begin;
  rows.memory_used = memory_used.data() + begin;
  rows.memory_nonzero = memory_nonzero.data() + begin;
  rows.disk_alloc = disk_alloc.data() + begin;
  rows.disk_used = disk_used.data() + begin;
  rows.pod_room = pod_room.data() + begin;
  rows.balance_before = balance_before.data() + begin;
  rows.taints = taints.data() + begin;
  rows.flags = flags.data() + begin;
  rows.cluster = &cluster;
  rows.columns = this;
  rows.begin = begin;
  return rows;
}

const DomainId* Rows::domain(TopologyKeyId key) const {
  BERTH_CHECK(index(key) < columns->domains.size());
  return columns->domains[index(key)].data() + begin;
}

std::pair<const double*, const double*> Rows::scalar(ResourceId id) const {
  if (index(id) >= columns->scalars.size()) return {nullptr, nullptr};
  const auto& [alloc, used] = columns->scalars[index(id)];
  return {alloc.data() + begin, used.data() + begin};
}

}  // namespace berth::scheduler
