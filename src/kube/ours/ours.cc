// SPDX-License-Identifier: Apache-2.0
#include "kube/ours/ours.h"

#include <fmt/format.h>

namespace berth::kube {
namespace {

KindId learnt(const KindSpec& spec) {
  return learn_kind({.group = spec.group(),
                     .version = spec.version(),
                     .kind = spec.kind(),
                     .plural = spec.plural(),
                     .namespaced = spec.namespaced()});
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
  const KindSpec job = scavenger_job_kind();
  kinds.insert(kinds.end(),
               {job, scavenger_policy_kind(), scavenger_quota_kind(), gromacs_to_tune_kind(),
                job.in_group(std::string(kCeritGroup), std::string(kCeritVersion))});
  return kinds;
}

std::vector<std::string> our_first_objects() {
  std::vector<std::string> manifests;
  for (const KindSpec& kind : our_kinds()) manifests.push_back(kind.crd());
  manifests.push_back(
      priority_class(kGhostClass, kGhostPriority, "Never", "Holds the room of a Testbed's slot."));
  manifests.push_back(priority_class(kExecutorClass, kExecutorPriority, "PreemptLowerPriority",
                                     "Runs in a slot of a Testbed."));
  manifests.push_back(priority_class(kScavengerClass, kScavengerPriority, "Never",
                                     "Runs while nobody else needs the room."));
  manifests.push_back(priority_class(kStarvedClass, kStarvedPriority, "Never",
                                     "A scavenger that was interrupted too often."));
  manifests.push_back(priority_class(kPoliteClass, kPolitePriority, "Never",
                                     "Ordinary, and leaves it to Berth to make room."));
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
const ScavengerKinds& scavenger_kinds() {
  static const ScavengerKinds kinds = {.job = learnt(scavenger_job_kind()),
                                       .policy = learnt(scavenger_policy_kind()),
                                       .quota = learnt(scavenger_quota_kind()),
                                       .gromacs = learnt(gromacs_to_tune_kind())};
  return kinds;
}
const ScavengerKinds& cerit_kinds() {
  static const ScavengerKinds kinds = [] {
    ScavengerKinds same = scavenger_kinds();
    same.job =
        learnt(scavenger_job_kind().in_group(std::string(kCeritGroup), std::string(kCeritVersion)));
    return same;
  }();
  return kinds;
}

}  // namespace berth::kube
