// SPDX-License-Identifier: Apache-2.0
// When a pod that PodTopologySpread refused is worth another attempt.
#include <algorithm>

#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth::scheduler::pod_topology_spread {
namespace {

bool involved(const Pod& other, const Pod& pod) {
  if (other.uid == pod.uid) return true;
  if (other.node_name.empty() && other.nominated_node_name.empty()) return false;
  return other.ns == pod.ns;
}

}  // namespace

Hint PodTopologySpread::after_pod_change(const Pod& pod, const Change& change,
                                         const ClusterState& cluster) const {
  const PodPtr &before = change.pod_before, &after = change.pod_after;
  if ((after && !involved(*after, pod)) || (before && !involved(*before, pod))) return Hint::kSkip;
  if (!pod.spec->spread_error.empty()) return Hint::kQueue;
  const std::vector<Resolved> hard = resolve_hard(pod, cluster);
  const auto any = [&](auto&& holds) {
    return std::any_of(hard.begin(), hard.end(), holds) ? Hint::kQueue : Hint::kSkip;
  };
  if (before && after) {
    if (pod.uid == after->uid && before->spec->tolerations != after->spec->tolerations &&
        any([](const Resolved& c) { return c.stated->honor_taints; }) == Hint::kQueue)
      return Hint::kQueue;
    return any([&](const Resolved& c) {
      return matches(c.selector, *before->labels) != matches(c.selector, *after->labels);
    });
  }
  const Pod& other = after ? *after : *before;
  return any([&](const Resolved& c) { return matches(c.selector, *other.labels); });
}

Hint PodTopologySpread::after_node_change(const Pod& pod, const Change& change,
                                          const ClusterState& cluster) const {
  if (!pod.spec->spread_error.empty()) return Hint::kQueue;
  const std::vector<Resolved> hard = resolve_hard(pod, cluster);
  const NodePtr &before = change.node_before, &after = change.node_after;
  const auto has_all = [&](const NodePtr& node) {
    return node && std::all_of(hard.begin(), hard.end(), [&](const Resolved& c) {
             return node->labels->has(c.stated->topology_key);
           });
  };
  const bool had = has_all(before), has = has_all(after);
  if (!before || !after) return had || has ? Hint::kQueue : Hint::kSkip;
  if (had != has) return Hint::kQueue;
  const bool changed = before->taints != after->taints ||
                       std::any_of(hard.begin(), hard.end(), [&](const Resolved& c) {
                         return before->labels->find(c.stated->topology_key) !=
                                after->labels->find(c.stated->topology_key);
                       });
  return has && changed ? Hint::kQueue : Hint::kSkip;
}

}  // namespace berth::scheduler::pod_topology_spread
