// SPDX-License-Identifier: Apache-2.0
// What a pod asks of its node: containers, init containers, sidecars, pod-level resources, overhead
// and resizes in progress, added up as Kubernetes does.
#pragma once

#include "base/result.h"
#include "kube/object.h"
#include "kube/resource_list.h"

namespace berth::kube {

struct PodRequestOptions {
  bool use_status =
      true;  // count what a resize in progress still holds; off only for pods without a node
  bool pod_level_resize = true;  // and the same for pod-level resources
  bool exclude_overhead = false;
  bool skip_pod_level = false;
  ResourceList non_missing = {};  // stands in for container requests that are not stated at all
  // A manifest that no API server has seen: a limit without a request is the request, as defaulting
  // makes it.
  bool limits_imply_requests = false;
};

// An error names the field: `spec.containers[0].resources.requests.memory: invalid quantity
// "1.5.2Gi": …`.
Result<ResourceList> pod_requests(const Object& pod, const PodRequestOptions& = {});

// What a pod may use at most, as its spec says it: the same sum over limits. Overhead counts where
// there is a limit.
Result<ResourceList> pod_limits(const Object& pod);

}  // namespace berth::kube
