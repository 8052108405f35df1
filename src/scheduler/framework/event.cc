// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/event.h"

#include <algorithm>

namespace berth::scheduler {
namespace {

std::string_view text_of(EventResource resource) {
  switch (resource) {
    case EventResource::kPod:
      return "Pod";
    case EventResource::kAssignedPod:
      return "AssignedPod";
    case EventResource::kUnscheduledPod:
      return "UnschedulablePod";
    case EventResource::kNode:
      return "Node";
    case EventResource::kPersistentVolume:
      return "PersistentVolume";
    case EventResource::kPersistentVolumeClaim:
      return "PersistentVolumeClaim";
    case EventResource::kCsiNode:
      return "storage.k8s.io/CSINode";
    case EventResource::kCsiDriver:
      return "storage.k8s.io/CSIDriver";
    case EventResource::kVolumeAttachment:
      return "storage.k8s.io/VolumeAttachment";
    case EventResource::kCsiStorageCapacity:
      return "storage.k8s.io/CSIStorageCapacity";
    case EventResource::kStorageClass:
      return "storage.k8s.io/StorageClass";
    case EventResource::kResourceClaim:
      return "resource.k8s.io/ResourceClaim";
    case EventResource::kResourceSlice:
      return "resource.k8s.io/ResourceSlice";
    case EventResource::kDeviceClass:
      return "resource.k8s.io/DeviceClass";
    case EventResource::kWildcard:
      return "*";
  }
  return "";
}

// k8s 1.36: a combination other than Update and All has no name.
std::string_view text_of(EventAction what) {
  switch (what) {
    case action::kAdd:
      return "Add";
    case action::kDelete:
      return "Delete";
    case action::kUpdateNodeAllocatable:
      return "UpdateNodeAllocatable";
    case action::kUpdateNodeLabel:
      return "UpdateNodeLabel";
    case action::kUpdateNodeTaint:
      return "UpdateNodeTaint";
    case action::kUpdateNodeCondition:
      return "UpdateNodeCondition";
    case action::kUpdateNodeAnnotation:
      return "UpdateNodeAnnotation";
    case action::kUpdateNodeDeclaredFeature:
      return "UpdateNodeDeclaredFeature";
    case action::kUpdatePodLabel:
      return "UpdatePodLabel";
    case action::kUpdatePodScaleDown:
      return "UpdatePodScaleDown";
    case action::kUpdatePodToleration:
      return "UpdatePodToleration";
    case action::kUpdatePodGatesEliminated:
      return "UpdatePodSchedulingGatesEliminated";
    case action::kUpdatePodGeneratedResourceClaim:
      return "UpdatePodGeneratedResourceClaim";
    case action::kAll:
      return "All";
    case action::kUpdate:
      return "Update";
    default:
      return "";
  }
}

bool covers(EventResource registered, EventResource incoming) {
  return registered == EventResource::kWildcard || registered == incoming ||
         (registered == EventResource::kPod &&
          (incoming == EventResource::kAssignedPod || incoming == EventResource::kUnscheduledPod));
}

bool scaled_down(const Resources& before, const Resources& after) {
  if (after.millicores < before.millicores || after.memory < before.memory ||
      after.disk < before.disk)
    return true;
  for (const auto& was : before.scalars) {
    const auto now = std::find_if(after.scalars.begin(), after.scalars.end(),
                                  [&](const auto& entry) { return entry.first == was.first; });
    if (now == after.scalars.end() || now->second < was.second) return true;
  }
  return false;
}

}  // namespace

std::string ClusterEvent::label() const {
  if (!custom_label.empty()) return std::string(custom_label);
  return std::string(text_of(resource)).append(text_of(action));
}

bool matches(const ClusterEvent& registered, const ClusterEvent& incoming) {
  return registered.wildcard() ||
         (covers(registered.resource, incoming.resource) &&
          (registered.action & incoming.action) != 0 && incoming.action <= registered.action);
}

std::vector<ClusterEvent> events_of_update(const Pod& before, const Pod& after) {
  const EventResource resource =
      after.assigned() ? EventResource::kAssignedPod : EventResource::kUnscheduledPod;
  std::vector<ClusterEvent> events;
  const auto add = [&](bool happened, EventAction what) {
    if (happened) events.push_back({resource, what});
  };
  add(*before.labels != *after.labels, action::kUpdatePodLabel);
  add(scaled_down(before.used(), after.used()), action::kUpdatePodScaleDown);
  add(!before.spec->gates.empty() && after.spec->gates.empty(), action::kUpdatePodGatesEliminated);
  add(before.spec->tolerations.size() != after.spec->tolerations.size(),
      action::kUpdatePodToleration);
  add(before.claim_statuses != after.claim_statuses, action::kUpdatePodGeneratedResourceClaim);
  add(events.empty(), action::kUpdate);
  return events;
}

std::vector<ClusterEvent> events_of_update(const Node& before, const Node& after) {
  std::vector<ClusterEvent> events;
  const auto add = [&](bool happened, EventAction what) {
    if (happened) events.push_back({EventResource::kNode, what});
  };
  add(before.unschedulable && !after.unschedulable, action::kUpdateNodeTaint);
  add(before.allocatable != after.allocatable || before.allowed_pods != after.allowed_pods,
      action::kUpdateNodeAllocatable);
  add(*before.labels != *after.labels, action::kUpdateNodeLabel);
  add(before.taints != after.taints, action::kUpdateNodeTaint);
  add(before.conditions != after.conditions, action::kUpdateNodeCondition);
  add(before.annotations != after.annotations, action::kUpdateNodeAnnotation);
  add(before.declared_features != after.declared_features, action::kUpdateNodeDeclaredFeature);
  return events;
}

}  // namespace berth::scheduler
