// SPDX-License-Identifier: Apache-2.0
// What a cluster has to give and what of it is asked for: a pure function of nodes and pods.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "kube/object.h"
#include "kube/resource_list.h"

namespace berth::cli {

struct NodeCapacity {
  std::string name;
  std::string state;  // "ready", "cordoned", "not ready"
  bool open = true;   // takes new pods, as far as state goes
  std::int64_t pods = 0;
  kube::ResourceList allocatable, requested;
};

struct CapacityReport {
  std::vector<NodeCapacity> nodes;            // by name
  kube::ResourceList allocatable, requested;  // of the open nodes
  std::int64_t pending = 0;                   // pods without a node
  kube::ResourceList pending_requests;
  std::vector<std::string> strays;  // pods on nodes that are not there
};

// `manifests`: the objects come from files that no API server has defaulted. `place` tells where a
// field of an object stands, for errors; "" where there is nothing to tell.
using PlaceOf = std::function<std::string(const kube::Object&, std::string_view field)>;
Result<CapacityReport> capacity_report(std::span<const kube::Object> nodes,
                                       std::span<const kube::Object> pods, bool manifests,
                                       const PlaceOf& place);

void print_capacity(const CapacityReport&, Context&);
std::string capacity_json(const CapacityReport&);

}  // namespace berth::cli
