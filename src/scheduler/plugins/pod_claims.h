// SPDX-License-Identifier: Apache-2.0
// The claims of a pod, for the plugins about volumes, and the texts that speak of them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "scheduler/cache/csi_migration.h"
#include "scheduler/cache/pod.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/framework/event.h"

namespace berth::scheduler {

// Volumes that some plugin reads.
inline const std::vector<PodVolume>& volumes_of(const Pod& pod) {
  static const std::vector<PodVolume> kNone;
  return pod.volumes ? pod.volumes->list : kNone;
}

inline bool by_claim(const PodVolume& volume) {
  return volume.kind == PodVolume::Kind::kClaim || volume.kind == PodVolume::Kind::kEphemeral;
}

// Null: it is no in-tree volume that a CSI driver could serve.
inline const InTreePlugin* migratable(const PodVolume& volume) {
  return by_claim(volume) ? nullptr : in_tree_plugin(volume.source);
}

inline std::string claim_key(const Pod& pod, std::string_view claim) {
  return fmt::format("{}/{}", pod.ns, claim);
}

// The claim of an ephemeral volume must have been made for the pod.
inline bool made_for(const Pod& pod, const Claim& claim) { return claim.controller_uid == pod.uid; }

inline std::string claim_not_found(std::string_view name) {
  return fmt::format("persistentvolumeclaim \"{}\" not found", name);
}

// Does the pod name the claim `object`? `ephemeral`: claims of ephemeral volumes count too.
inline bool names_claim(const Pod& pod, const kube::Object& object, bool ephemeral) {
  if (object.ns() != pod.ns) return false;
  for (const PodVolume& volume : volumes_of(pod))
    if ((volume.kind == PodVolume::Kind::kClaim ||
         (ephemeral && volume.kind == PodVolume::Kind::kEphemeral)) &&
        volume.claim == object.name())
      return true;
  return false;
}

inline Hint if_named(const Pod& pod, const Change& change, const ClusterState&) {
  return names_claim(pod, change.after, true) ? Hint::kQueue : Hint::kSkip;
}
inline Hint if_named_by_volume(const Pod& pod, const Change& change, const ClusterState&) {
  return names_claim(pod, change.after, false) ? Hint::kQueue : Hint::kSkip;
}

}  // namespace berth::scheduler
