// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/volume_binding/volume_binding_hints.h"

#include "scheduler/plugins/pod_claims.h"

namespace berth::scheduler {
namespace {

Hint queue_if(bool yes) { return yes ? Hint::kQueue : Hint::kSkip; }

using Topologies = std::vector<std::vector<std::pair<std::string, std::vector<std::string>>>>;
Topologies topologies_of(const kube::Object& storage_class) {
  Topologies out;
  for (const json::Slice term : storage_class.member("allowedTopologies").elements()) {
    auto& expressions = out.emplace_back();
    for (const json::Slice expression : term["matchLabelExpressions"].elements()) {
      auto& [key, values] =
          expressions.emplace_back(expression["key"].text(), std::vector<std::string>{});
      for (const json::Slice value : expression["values"].elements())
        values.push_back(value.text());
    }
  }
  return out;
}

Hint after_class(const Pod&, const Change& change, const ClusterState&) {
  return queue_if(!change.before.valid() ||
                  topologies_of(change.before) != topologies_of(change.after));
}

Hint after_csi_node(const Pod&, const Change& change, const ClusterState&) {
  constexpr std::string_view kMigrated = "storage.alpha.kubernetes.io/migrated-plugins";
  return queue_if(!change.before.valid() ||
                  change.before.annotation(kMigrated) != change.after.annotation(kMigrated));
}

bool tracks_capacity(const kube::Object& driver) {
  return driver.member("spec")["storageCapacity"].boolean();
}

// k8s 1.36: asks about inline volumes of the driver, though it is claims that capacity matters to.
Hint after_driver(const Pod& pod, const Change& change, const ClusterState&) {
  if (!tracks_capacity(change.before) || tracks_capacity(change.after)) return Hint::kSkip;
  for (const PodVolume& volume : volumes_of(pod))
    if (!by_claim(volume) && volume.source["csi"]["driver"].equals(change.after.name()))
      return Hint::kQueue;
  return Hint::kSkip;
}

Hint after_capacity(const Pod&, const Change& change, const ClusterState&) {
  if (!change.before.valid()) return Hint::kQueue;
  const std::optional<std::int64_t> before = volume_limit(change.before),
                                    after = volume_limit(change.after);
  return queue_if(after && (!before || *after > *before));
}

}  // namespace

std::vector<EventInterest> volume_binding_events() {
  constexpr EventAction kAddOrUpdate = action::kAdd | action::kUpdate;
  return {{{EventResource::kStorageClass, kAddOrUpdate}, after_class},
          {{EventResource::kPersistentVolumeClaim, kAddOrUpdate}, if_named},
          {{EventResource::kPersistentVolume, kAddOrUpdate}},
          {{EventResource::kNode, action::kAdd | action::kUpdateNodeLabel}},
          {{EventResource::kCsiNode, kAddOrUpdate}, after_csi_node},
          {{EventResource::kCsiDriver, action::kUpdate}, after_driver},
          {{EventResource::kCsiStorageCapacity, kAddOrUpdate}, after_capacity}};
}

}  // namespace berth::scheduler
