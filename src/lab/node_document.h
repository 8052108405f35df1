// SPDX-License-Identifier: Apache-2.0
// Simulated nodes as documents: made from a template, read from a file, or given the status that a
// kubelet would give them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace berth::lab {

struct NodeTemplate {
  std::string name = "node-{}";  // {} is the node's number, with leading zeros
  std::map<std::string, std::string> capacity = {
      {"cpu", "16"}, {"memory", "64Gi"}, {"pods", "110"}, {"ephemeral-storage", "200Gi"}};
  // Taken off the capacity for what runs beside the pods; "" and what is not named: nothing.
  std::map<std::string, std::string> reserved = {};
  std::map<std::string, std::string> labels = {}, annotations = {};
  std::vector<std::string> taints = {};  // "key=value:NoSchedule"
  std::string region = "lab";
  std::vector<std::string> zones = {"lab-a", "lab-b", "lab-c"};  // given out in turn
  std::string architecture = "amd64";
  std::vector<std::string> images = {};  // present on every node
};

// The node of that number among `count`, with its status. Fails on amounts that are none.
Result<std::string> node_json(const NodeTemplate&, std::size_t number, std::size_t count,
                              WallTime now);

// Nodes of a file in YAML or JSON: manifests one after another, or lists of them. Errors name the
// line.
Result<std::vector<kube::Object>> read_nodes(std::string_view text, std::string_view file_name);

enum class Health : std::uint8_t {
  kReady,
  kMemoryPressure,
  kDiskPressure,
  kPidPressure,
  kNotReady
};

// The patch that a kubelet sends: conditions with fresh heartbeats, and what else is missing
// (addresses, nodeInfo, capacity, allocatable). Strategic merge. An extended resource that the
// capacity has gained or lost since is gained or lost for pods, too.
std::string node_status_patch(const kube::Object& node, std::uint32_t number, Health, WallTime now);

// Nothing is left for such a patch to say but conditions.
bool is_complete(json::Slice status);

std::string node_address(std::uint32_t number);  // 172.16.0.0/12
std::string pod_range(std::uint32_t number);     // a /24 of 10.0.0.0/8

}  // namespace berth::lab
