// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/ordinary_priority.h"

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/ours/ours.h"

namespace berth::admission {
namespace {

// A kubelet's own pod, which nobody can change any more.
bool is_mirror(json::Slice pod) {
  return pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].present();
}

}  // namespace

std::string class_patch(json::Slice spec, std::string_view name) {
  json::Writer w;
  w.array();
  const auto remove = [&](std::string_view field) {
    if (spec[field])
      w.object().member("op").string("remove").member("path").string(
          fmt::format("/spec/{}", field));
    if (spec[field]) w.end();
  };
  if (name.empty())
    remove("priorityClassName");
  else
    w.object()
        .member("op")
        .string("add")
        .member("path")
        .string("/spec/priorityClassName")
        .member("value")
        .string(name)
        .end();
  remove("priority");
  remove("preemptionPolicy");
  w.end();
  return w.take();
}

bool is_scavenger_class(std::string_view name) {
  return name == kube::kScavengerClass || name.starts_with("scavenger-");
}
bool is_reserved_class(std::string_view name) {
  return is_scavenger_class(name) || name.starts_with("berth-");
}

Verdict ordinary_priority(const Review& review, const Ordinary& ordinary) {
  Verdict verdict;
  if (!review.creates() || review.resource != "pods" || !review.group.empty() ||
      !review.subresource.empty() || is_mirror(review.object))
    return verdict;
  const json::Slice spec = review.object["spec"];
  if (!spec) return verdict;  // the server refuses it
  const std::string name = spec["priorityClassName"].text();
  if (name.starts_with("system-") || is_reserved_class(name)) return verdict;
  const std::int64_t priority = spec["priority"].integer().value_or(0);
  const bool nothing_asked = name.empty() || name == ordinary.default_class;
  if (priority < 0) {
    // Without a class it would get this one again.
    if (name == ordinary.default_class && !name.empty() && !ordinary.polite) {
      verdict.warnings.push_back(fmt::format(
          "spec.priorityClassName: \"{}\" is the cluster's default and lies below 0, so "
          "this pod may be preempted by any other; give the default class 0 or more",
          name));
      return verdict;
    }
    verdict.patch = class_patch(spec, ordinary.polite ? kube::kPoliteClass : std::string_view());
    if (!nothing_asked)
      verdict.warnings.push_back(
          fmt::format("spec.priorityClassName: \"{}\" lies below 0, where only scavenger jobs run; "
                      "the pod has priority 0 instead",
                      name));
    return verdict;
  }
  if (ordinary.polite && priority == 0 && nothing_asked &&
      !spec["preemptionPolicy"].equals("Never"))
    verdict.patch = class_patch(spec, kube::kPoliteClass);
  return verdict;
}

}  // namespace berth::admission
