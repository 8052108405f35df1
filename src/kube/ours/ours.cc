// SPDX-License-Identifier: Apache-2.0
#include "kube/ours/ours.h"

#include <fmt/format.h>

namespace berth::kube {
namespace {

KindId learnt(const KindSpec& spec) {
  return learn_kind({.group = spec.group(),
                     .version = spec.version(),
                     .kind = spec.kind(),
                     .plural = spec.plural()});
}

SlotKinds learnt(const std::vector<KindSpec>& kinds, std::size_t first) {
  return {.testbed = learnt(kinds[first]),
          .batch_job = learnt(kinds[first + 1]),
          .scheduling = learnt(kinds[first + 2]),
          .ledger = learnt(kinds[first + 3])};
}

std::string priority_class(std::string_view name, std::int32_t value, std::string_view policy,
                           std::string_view what) {
  return fmt::format(
      R"({{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{{"name":"{}"}},"value":{},"preemptionPolicy":"{}","description":"{}"}})",
      name, value, policy, what);
}

}  // namespace

std::vector<KindSpec> our_kinds() {
  std::vector<KindSpec> kinds = {testbed_kind(), batch_job_kind(), scheduling_kind(),
                                 slot_ledger_kind()};
  for (std::size_t i = 0; i < 4; ++i) kinds.push_back(kinds[i].in_group(std::string(kAliasGroup)));
  return kinds;
}

std::vector<std::string> our_first_objects() {
  std::vector<std::string> manifests;
  for (const KindSpec& kind : our_kinds()) manifests.push_back(kind.crd());
  manifests.push_back(
      priority_class(kGhostClass, kGhostPriority, "Never", "Holds the room of a Testbed's slot."));
  manifests.push_back(priority_class(kExecutorClass, kExecutorPriority, "PreemptLowerPriority",
                                     "Runs in a slot of a Testbed."));
  return manifests;
}

const SlotKinds& thesis_kinds() {
  static const SlotKinds kinds = learnt(our_kinds(), 0);
  return kinds;
}
const SlotKinds& alias_kinds() {
  static const SlotKinds kinds = learnt(our_kinds(), 4);
  return kinds;
}

}  // namespace berth::kube
