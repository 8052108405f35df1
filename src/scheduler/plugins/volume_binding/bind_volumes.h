// SPDX-License-Identifier: Apache-2.0
// What happens to a pod's volumes once its node is chosen: assumed, written, waited for.
#pragma once

#include <memory>
#include <string>

#include "base/scope.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/status.h"
#include "scheduler/plugins/volume_binding/volume_search.h"

namespace berth::scheduler {

// The volume as it is when it belongs to the claim; the same one where it does already.
VolumePtr bound_to(const VolumePtr&, const Claim&);
// The claim as it is when a volume shall be made for it that `node` can use.
ClaimPtr promised_to(const Claim&, const std::string& node);

// Assumes them all, and makes `volumes` what is to be written; or assumes none.
Result<Ok> assume(StorageState&, const std::string& node, NodeVolumes& volumes);
void restore(StorageState&, const NodeVolumes&);

// Writes what was assumed and waits until the volume controller and the provisioners have done
// their part. `volumes` is kept up to date with what the API server answered.
struct BindVolumes {
  Services& services;
  const ClusterState& cluster;
  std::string pod_ns, pod_name, pod_uid, node;
  std::shared_ptr<NodeVolumes> volumes;
  Duration timeout;
};
void start(BindVolumes, Done<Status>);

}  // namespace berth::scheduler
