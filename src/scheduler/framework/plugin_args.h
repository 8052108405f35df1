// SPDX-License-Identifier: Apache-2.0
// The arguments of plugins (pluginConfig), read and validated by config/, with kube-scheduler's
// defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
};

struct InterPodAffinityArgs {
  std::int32_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
};

struct NodeAffinityArgs {
  std::string added_affinity;  // JSON of a v1.NodeAffinity; "" where there is none
};

struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
  friend bool operator==(const ResourceWeight&, const ResourceWeight&) = default;
};

struct ShapePoint {
  std::int32_t utilization = 0;  // 0..100
  std::int32_t score = 0;        // 0..10
  friend bool operator==(const ShapePoint&, const ShapePoint&) = default;
};

struct NodeResourcesFitArgs {
  enum class Strategy : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };
  std::vector<std::string> ignored_resources, ignored_resource_groups;
  Strategy strategy = Strategy::kLeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;
};

struct BalancedAllocationArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
};

struct PodTopologySpreadArgs {
  bool system_defaulting = true;  // defaultingType: System
  std::vector<SpreadConstraint> default_constraints;
};

struct VolumeBindingArgs {
  std::int64_t bind_timeout_seconds = 600;
  std::vector<ShapePoint> shape;
};

struct DynamicResourcesArgs {
  Duration filter_timeout = std::chrono::seconds(10);
  Duration binding_timeout = std::chrono::seconds(600);
};

// Of plugins that are ours alone: the raw JSON.
struct RawArgs {
  std::string json;
};

using PluginArgs =
    std::variant<std::monostate, DefaultPreemptionArgs, InterPodAffinityArgs, NodeAffinityArgs,
                 NodeResourcesFitArgs, BalancedAllocationArgs, PodTopologySpreadArgs,
                 VolumeBindingArgs, DynamicResourcesArgs, RawArgs>;

}  // namespace berth::scheduler
