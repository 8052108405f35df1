// SPDX-License-Identifier: Apache-2.0
// Which volumes the CSI drivers of each node have to attach for the pods there. Every pod with a
// claim asks this of every node, so what is found out about a node is kept until one of its pods or
// of their claims changes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/cache/ids.h"
#include "scheduler/cache/pod.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/cache/string_map.h"

namespace berth::scheduler {

class ClusterState;

// A volume as a driver attaches it: once a node, however many pods use it.
struct Attachable {
  std::string driver, handle;
  // It does not exist yet: the handle is the claim's key. Kube-scheduler puts a random prefix in
  // front of it, so that no handle of a driver can be the same.
  bool to_be_made = false;
  friend auto operator<=>(const Attachable&, const Attachable&) = default;
};
void sort_out(std::vector<Attachable>&);  // sorted, none twice

// Finds the volumes of pods. `has_csi_node` is all that in-tree volumes ask of a node here.
class AttachableFinder {
 public:
  AttachableFinder(const StorageState& storage, bool has_csi_node)
      : storage_(storage), has_csi_node_(has_csi_node) {}

  // Appends to `out`. NotFound: a claim is not there, which is an error only where the pod
  // `is_new`.
  Result<Ok> add(const Pod& pod, bool is_new, std::vector<Attachable>& out);

 private:
  Result<Ok> add_claimed(const Pod&, const PodVolume&, bool is_new, std::vector<Attachable>&);
  Result<Ok> add_inline(const PodVolume&, std::vector<Attachable>&) const;
  void add_to_be_made(const Claim&, std::vector<Attachable>&);

  const StorageState& storage_;
  const bool has_csi_node_;
  std::string key_;
};

// What is attached to a node that has a CSINode, or will have to be.
struct NodeAttached {
  std::vector<Attachable> volumes;  // of its pods; sorted, none twice
  // How many each driver attaches: those, and what is attached though no pod there uses it.
  std::vector<std::pair<std::string, std::int64_t>> counts;
  std::string error;  // they cannot be told

  bool has(const Attachable&) const;
  std::int64_t count_of(std::string_view driver) const;
};

// Puts it together.
class AttachedBuilder {
 public:
  explicit AttachedBuilder(const StorageState& storage)
      : storage_(storage), finder_(storage, true) {}
  void add(const Pod&);
  NodeAttached finish(std::string_view node);

 private:
  const StorageState& storage_;
  AttachableFinder finder_;
  NodeAttached made_;
};

// Loop-confined; belongs to one ClusterState.
class AttachedVolumes {
 public:
  // Valid until the cluster changes.
  const NodeAttached& on(const ClusterState&, NodeId);

 private:
  struct Entry {
    std::uint64_t pods = 0;  // ClusterState::volumes_epoch() when it was made
    bool stale = true;
    NodeAttached attached;
    std::vector<std::string> made_from;  // keys of the AttachLog
  };
  void catch_up(const StorageState&);
  void make(const ClusterState&, NodeId, Entry&);

  std::vector<Entry> by_node_;
  StringMap<std::vector<NodeId>> made_with_;  // nodes, by key
  std::uint64_t seen_ = 0;                    // of the AttachLog
};

}  // namespace berth::scheduler
