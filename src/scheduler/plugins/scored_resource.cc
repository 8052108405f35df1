// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/scored_resource.h"

namespace berth::scheduler {

std::vector<ScoredResource> scored_resources(const std::vector<ResourceWeight>& configured,
                                             const Resources& asked, ClusterState& cluster) {
  using Kind = ScoredResource::Kind;
  std::vector<ScoredResource> out;
  for (const auto& [name, weight] : configured) {
    const std::int64_t amount = asked.of(name);
    if (name == "cpu")
      out.push_back({Kind::kCpu, ResourceId::kNone, name, weight, amount});
    else if (name == "memory")
      out.push_back({Kind::kMemory, ResourceId::kNone, name, weight, amount});
    else if (name == "ephemeral-storage")
      out.push_back({Kind::kDisk, ResourceId::kNone, name, weight, amount});
    else if (is_scalar_resource(name) && amount != 0)
      out.push_back({Kind::kScalar, cluster.resource(name), name, weight, amount});
  }
  return out;
}

ResourceColumns columns_of(const ScoredResource& resource, const Rows& rows, Used used) {
  const bool nonzero = used == Used::kNonzero;
  switch (resource.kind) {
    case ScoredResource::Kind::kCpu:
      return {rows.cpu_alloc, nonzero ? rows.cpu_nonzero : rows.cpu_used};
    case ScoredResource::Kind::kMemory:
      return {rows.memory_alloc, nonzero ? rows.memory_nonzero : rows.memory_used};
    case ScoredResource::Kind::kDisk:
      return {rows.disk_alloc, rows.disk_used};
    case ScoredResource::Kind::kScalar:
      break;
  }
  const auto [alloc, sum] = rows.scalar(resource.id);
  return {alloc, sum};
}

ExactAmounts exact_amounts(const ScoredResource& resource, const ExactRow& row, Used used) {
  const bool nonzero = used == Used::kNonzero;
  const NodeSums& sums = row.used();
  switch (resource.kind) {
    case ScoredResource::Kind::kCpu:
      return {row.allocatable().millicores, nonzero ? sums.nonzero_millicores : sums.millicores};
    case ScoredResource::Kind::kMemory:
      return {row.allocatable().memory, nonzero ? sums.nonzero_memory : sums.memory};
    case ScoredResource::Kind::kDisk:
      return {row.allocatable().disk, sums.disk};
    case ScoredResource::Kind::kScalar:
      break;
  }
  return {row.allocatable().scalar(resource.name), row.scalar_used(resource.id, resource.name)};
}

}  // namespace berth::scheduler
