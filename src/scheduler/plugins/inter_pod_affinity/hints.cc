// SPDX-License-Identifier: Apache-2.0
// When a pod that InterPodAffinity refused is worth another attempt.
#include <algorithm>

#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.h"

namespace berth::scheduler::inter_pod_affinity {
namespace {

// k8s 1.36: hints ask the selectors of namespaces without labels, so those that want one never
// hold.
bool all_select(const std::vector<AffinityTerm>& terms, const Pod& holder, const Pod& pod) {
  return selects_all(terms, holder.ns, pod, Labels());
}

bool nowhere(const PodPtr& pod) {
  return pod && pod->node_name.empty() && pod->nominated_node_name.empty();
}

}  // namespace

Hint after_pod_change(const Pod& pod, const Change& change, const ClusterState&) {
  const PodPtr &before = change.pod_before, &after = change.pod_after;
  if (before && after && pod.uid == after->uid) return Hint::kQueue;
  if (nowhere(before) || nowhere(after)) return Hint::kSkip;
  const PodAffinity& affinity = pod.spec->affinity;
  if (!affinity.error.empty()) return Hint::kQueue;
  const auto hint = [](bool queue) { return queue ? Hint::kQueue : Hint::kSkip; };
  if (before && after)
    return hint((!all_select(affinity.required, pod, *before) &&
                 all_select(affinity.required, pod, *after)) ||
                (all_select(affinity.required_anti, pod, *before) &&
                 !all_select(affinity.required_anti, pod, *after)));
  if (after) return hint(all_select(affinity.required, pod, *after));
  return hint(all_select(affinity.required_anti, pod, *before) ||
              !before->spec->affinity.error.empty() ||
              all_select(before->spec->affinity.required_anti, *before, pod));
}

Hint after_node_change(const Pod& pod, const Change& change, const ClusterState&) {
  const PodAffinity& affinity = pod.spec->affinity;
  if (!affinity.error.empty()) return Hint::kQueue;
  const NodePtr &before = change.node_before, &after = change.node_after;
  const auto value = [](const NodePtr& node, const AffinityTerm& term) {
    return node ? node->labels->find(term.topology_key) : std::nullopt;
  };
  const auto moved = [&](const AffinityTerm& term) {
    return value(before, term) && value(after, term) && value(before, term) != value(after, term);
  };
  const bool queue =
      std::any_of(affinity.required.begin(), affinity.required.end(),
                  [&](const AffinityTerm& term) {
                    return (!value(before, term) && value(after, term)) || moved(term);
                  }) ||
      std::any_of(affinity.required_anti.begin(), affinity.required_anti.end(),
                  [&](const AffinityTerm& term) {
                    return !before || (value(before, term) && !value(after, term)) || moved(term);
                  });
  return queue ? Hint::kQueue : Hint::kSkip;
}

}  // namespace berth::scheduler::inter_pod_affinity
