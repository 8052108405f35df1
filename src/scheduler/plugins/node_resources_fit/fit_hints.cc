// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_resources_fit/fit_hints.h"

#include <algorithm>

#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {
namespace {

// k8s 1.36: resources that the plugin is told to ignore are not ignored here.
bool fits_empty(const Resources& asked, const Node& node) {
  const Resources& has = node.allocatable;
  if (node.allowed_pods < 1) return false;
  if (asked.millicores > has.millicores || asked.memory > has.memory || asked.disk > has.disk)
    return false;
  return std::all_of(asked.scalars.begin(), asked.scalars.end(), [&](const auto& scalar) {
    return scalar.second == 0 || scalar.second <= has.scalar(scalar.first);
  });
}

// Is there a resource that the pod asks for and that `less` has less of than `more`?
bool asked_differs(const Resources& asked, const Resources& less, const Resources& more) {
  if ((asked.millicores > 0 && less.millicores < more.millicores) ||
      (asked.memory > 0 && less.memory < more.memory) || (asked.disk > 0 && less.disk < more.disk))
    return true;
  return std::any_of(asked.scalars.begin(), asked.scalars.end(), [&](const auto& scalar) {
    return scalar.second != 0 && less.scalar(scalar.first) < more.scalar(scalar.first);
  });
}

Hint queue_if(bool yes) { return yes ? Hint::kQueue : Hint::kSkip; }

Hint after_pod(const Pod& pod, const Change& change, const ClusterState&) {
  if (!change.pod_after) {
    if (!change.pod_before) return Hint::kQueue;
    return queue_if(change.pod_before->assigned() ||
                    !change.pod_before->nominated_node_name.empty());
  }
  const Pod& now = *change.pod_after;
  if (now.uid == pod.uid) return Hint::kQueue;
  if (!now.assigned() || !change.pod_before) return Hint::kSkip;
  return queue_if(asked_differs(pod.used(), now.used(), change.pod_before->used()));
}

Hint after_node(const Pod& pod, const Change& change, const ClusterState&) {
  const Resources& asked = pod.spec->asked;
  const Node& now = *change.node_after;
  if (!fits_empty(asked, now)) return Hint::kSkip;
  if (!change.node_before) return Hint::kQueue;
  const Node& before = *change.node_before;
  return queue_if(now.allowed_pods > before.allowed_pods ||
                  asked_differs(asked, before.allocatable, now.allocatable));
}

// Devices may stand behind an extended resource. Berth allocates none, but the pod is tried again
// as it is by kube-scheduler.
Hint after_device_class(const Pod& pod, const Change& change, const ClusterState&) {
  const auto asks_for = [&pod](const std::string& name) {
    const auto& scalars = pod.spec->asked.scalars;
    return std::any_of(scalars.begin(), scalars.end(),
                       [&](const auto& scalar) { return scalar.first == name; });
  };
  const auto resource_of = [](const kube::Object& device_class) {
    return device_class.member("spec")["extendedResourceName"].text();
  };
  const std::string now = resource_of(change.after);
  if (change.before.valid()) {
    if (resource_of(change.before) == now) return Hint::kSkip;
  } else if (asks_for("deviceclass.resource.kubernetes.io/" + std::string(change.after.name()))) {
    return Hint::kQueue;
  }
  return queue_if(!now.empty() && asks_for(now));
}

}  // namespace

std::vector<EventInterest> fit_events() {
  return {
      {{EventResource::kPod, action::kDelete | action::kUpdatePodScaleDown}, after_pod},
      {{EventResource::kNode, action::kAdd | action::kUpdateNodeAllocatable}, after_node},
      {{EventResource::kDeviceClass, action::kAdd | action::kUpdate}, after_device_class},
  };
}

}  // namespace berth::scheduler
