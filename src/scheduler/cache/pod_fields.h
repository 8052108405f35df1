// SPDX-License-Identifier: Apache-2.0
// The parts of a pod manifest that the compiler reads, found in one pass over its bytes.
#pragma once

#include <string>
#include <vector>

#include "json/slice.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

struct ContainerFields {
  json::Slice name, image, resources, ports, restart_policy, restart_rules;
  bool sidecar() const { return restart_policy.equals("Always"); }  // of init containers
};

// Views into the document; of members that come twice the last counts.
struct PodFields {
  // spec
  json::Slice affinity, node_name, node_selector, tolerations, spread, gates, priority,
      scheduler_name, preemption_policy, overhead, resources, host_network, host_users,
      resource_claims;
  std::vector<ContainerFields> containers, init_containers;
  std::vector<json::Slice> volumes;
  std::vector<json::Slice> image_references;  // of image volumes
  // status
  json::Slice phase, nominated_node_name, start_time, conditions, container_statuses,
      init_container_statuses, actual_resources, allocated_resources, claim_statuses,
      extended_claim_status;

  void read(const kube::Object& pod);  // what was read before is forgotten, its memory kept
  // Everything that a PodSpec is made from, as it is written. Equal texts make equal specs; unequal
  // ones may. Names of containers, volumes and mounts are no part of it.
  void append_source(std::string& out) const;
};

// Present and not null: what a pointer, list or map of the Go types would be.
inline bool stated(json::Slice slice) { return slice.present() && !slice.is_null(); }

// The volumes that some plugin reads; null where there are none.
std::shared_ptr<const PodVolumes> volumes_of(const PodFields&, const kube::Object& pod);

// Everything but `canonical`.
Result<PodSpec> build_spec(const PodFields&, const kube::Object& pod);
PodAffinity pod_affinity_of(json::Slice affinity);
void node_affinity_of(const PodFields&, PodSpec&);
std::string preferred_text(const PodFields&);  // canonical JSON of the preferred node affinity

// Every field of the spec written out; the affinities that it holds only in compiled form are given
// as text.
std::string canonical_text(const PodSpec&, const std::string& preferred_text);

// What a node accounts for a pod.
struct Accounted {
  Resources used;
  std::int64_t nonzero_millicores = 0, nonzero_memory = 0;
  friend bool operator==(const Accounted&, const Accounted&) = default;
};
Result<Accounted> accounted(const PodFields&, const kube::Object& pod, bool use_status);
// What Fit's scorer counts.
Result<Resources> asked_nonzero(const kube::Object& pod);
// False: what the status says of resources is what the spec says, so a resize plays no part.
bool may_be_resized(const PodFields&);

}  // namespace berth::scheduler
