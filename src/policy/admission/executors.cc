// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/executors.h"

#include "kube/ours/ours.h"
#include "policy/admission/ordinary_priority.h"

namespace berth::admission {

Verdict executor_class(const Review& review, const Reserved& reserved) {
  Verdict verdict;
  if (!review.creates() || review.resource != "pods" || !review.group.empty() ||
      !review.subresource.empty())
    return verdict;
  const json::Slice spec = review.object["spec"], labels = review.object["metadata"]["labels"];
  const std::string grant = labels[kube::kGrantLabel].text();
  if (!spec.is_object() || grant.empty() || labels[kube::kGhostLabel].equals("true") ||
      spec["priorityClassName"].equals(kube::kExecutorClass))
    return verdict;
  // One that is not known may be too new to be; then the pod is what it would be without us.
  if (reserved.granted && !reserved.granted(review.ns, grant)) return verdict;
  verdict.patch = class_patch(spec, kube::kExecutorClass);
  return verdict;
}

}  // namespace berth::admission
