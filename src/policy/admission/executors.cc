// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/executors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube/ours/batch_job_view.h"
#include "kube/ours/ours.h"
#include "policy/admission/ordinary_priority.h"

namespace berth::admission {
namespace {

std::string add(std::string_view path, std::string_view json) {
  return fmt::format(R"({{"op":"add","path":"/spec/containers/0/resources{}","value":{}}})", path,
                     json);
}

// What makes the first container request a slot; nothing where it does.
std::vector<std::string> slot_resource_patch(json::Slice spec) {
  const json::Slice container = spec["containers"][std::size_t{0}];
  if (!container.is_object()) return {};
  const json::Slice resources = container["resources"];
  const std::string one = fmt::format(R"({{"{}":"1"}})", kube::kSlotResource);
  if (!resources.is_object())
    return {add("", fmt::format(R"({{"requests":{0},"limits":{0}}})", one))};
  std::vector<std::string> patch;
  for (const char* side : {"requests", "limits"}) {
    if (!resources[side].is_object())
      patch.push_back(add(fmt::format("/{}", side), one));
    else if (!resources[side][kube::kSlotResource])
      patch.push_back(add(fmt::format("/{}/berth.dev~1slot", side), R"("1")"));
  }
  return patch;
}

}  // namespace

Verdict executor_class(const Review& review, const Reserved& reserved) {
  Verdict verdict;
  if (!review.creates() || review.resource != "pods" || !review.group.empty() ||
      !review.subresource.empty())
    return verdict;
  const json::Slice spec = review.object["spec"], labels = review.object["metadata"]["labels"];
  const std::string grant = labels[kube::kGrantLabel].text();
  if (!spec.is_object() || grant.empty() || labels[kube::kGhostLabel].equals("true"))
    return verdict;
  const std::vector<std::string> resources =
      reserved.slot_resource ? slot_resource_patch(spec) : std::vector<std::string>();
  const bool has_class = spec["priorityClassName"].equals(kube::kExecutorClass);
  if (has_class && resources.empty()) return verdict;
  // One that is not known may be too new to be; then the pod is what it would be without us.
  if (reserved.granted && !reserved.granted(review.ns, grant)) return verdict;
  verdict.patch = has_class ? "[]" : class_patch(spec, kube::kExecutorClass);
  if (resources.empty()) return verdict;
  verdict.patch.pop_back();
  verdict.patch += fmt::format("{}{}]", has_class ? "" : ",", fmt::join(resources, ","));
  return verdict;
}

}  // namespace berth::admission
