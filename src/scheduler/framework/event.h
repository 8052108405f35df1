// SPDX-License-Identifier: Apache-2.0
// What happens in a cluster, as the queue and the plugins' hints see it. Names, bits and matching
// are kube-scheduler's: labels appear in metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

class ClusterState;

enum class EventResource : std::uint8_t {
  kPod,          // in registrations: both of the next two
  kAssignedPod,  // only incoming
  kUnscheduledPod,
  kNode,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kCsiNode,
  kCsiDriver,
  kVolumeAttachment,
  kCsiStorageCapacity,
  kStorageClass,
  kResourceClaim,
  kResourceSlice,
  kDeviceClass,
  kWildcard,
};

// Bits; their numeric order matters to matches().
using EventAction = std::uint32_t;
namespace action {
inline constexpr EventAction kAdd = 1, kDelete = 2, kUpdateNodeAllocatable = 4,
                             kUpdateNodeLabel = 8, kUpdateNodeTaint = 16, kUpdateNodeCondition = 32,
                             kUpdateNodeAnnotation = 64, kUpdateNodeDeclaredFeature = 128,
                             kUpdatePodLabel = 256, kUpdatePodScaleDown = 512,
                             kUpdatePodToleration = 1024, kUpdatePodGatesEliminated = 2048,
                             kUpdatePodGeneratedResourceClaim = 4096, kAll = 8191, kUpdate = 8188;
}  // namespace action

// A kind of event: registered by a plugin, or what has happened.
struct ClusterEvent {
  EventResource resource = EventResource::kWildcard;
  EventAction action = action::kAll;
  std::string_view custom_label = {};  // static text: "UnschedulableTimeout", "ForceActivate"

  bool wildcard() const { return resource == EventResource::kWildcard && action == action::kAll; }
  std::string label() const;  // "NodeUpdateNodeTaint", "AssignedPodDelete", "UnschedulableTimeout"
  friend bool operator==(const ClusterEvent&, const ClusterEvent&) = default;
};
// k8s 1.36: resource matches, the bits overlap, and the incoming action is not the larger number.
bool matches(const ClusterEvent& registered, const ClusterEvent& incoming);

// One thing that happened. Of the pairs, the one that fits the resource is set; an add has no
// `before`, a deletion no `after`.
struct Change {
  ClusterEvent event;
  PodPtr pod_before = {}, pod_after = {};
  NodePtr node_before = {}, node_after = {};
  kube::Object before = {}, after = {};  // every other kind

  const Pod* pod() const { return pod_after ? pod_after.get() : pod_before.get(); }
};

// What an update of a pod or node means, in kube-scheduler's order; a node may yield nothing.
std::vector<ClusterEvent> events_of_update(const Pod& before, const Pod& after);
std::vector<ClusterEvent> events_of_update(const Node& before, const Node& after);

enum class Hint : std::uint8_t {
  kSkip,
  kQueue,
  kError,  // could not tell: as kQueue, but counted apart
};

// Could `change` make a pod schedulable that this plugin refused? Pure in the pod and the change;
// the cluster may be asked for the labels of namespaces and the like, never for rows. One answer
// serves all waiting pods with the same spec, labels and namespace, so of the rest of the pod only
// these may be looked at: whether it is the very pod that changed (by uid), its volumes and its
// resource claims.
using HintFn = std::function<Hint(const Pod&, const Change&, const ClusterState&)>;

struct EventInterest {
  ClusterEvent event;
  HintFn hint = nullptr;  // null: always kQueue
};

}  // namespace berth::scheduler
