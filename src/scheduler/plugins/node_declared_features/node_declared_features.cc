// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes that have not declared the features they need. What a pod needs is inferred
// when it is compiled (cache/declared_features.h).
#include <algorithm>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

Hint after_node(const Pod&, const Change& change, const ClusterState&) {
  const bool same = change.node_before &&
                    change.node_before->declared_features == change.node_after->declared_features;
  return same ? Hint::kSkip : Hint::kQueue;
}

Hint after_pod(const Pod& pod, const Change& change, const ClusterState&) {
  if (!change.pod_after || change.pod_after->uid != pod.uid || !change.pod_before)
    return Hint::kSkip;
  const bool same =
      change.pod_before->spec->needed_features == change.pod_after->spec->needed_features;
  return same ? Hint::kSkip : Hint::kQueue;
}

class NodeDeclaredFeatures final : public Filter {
 public:
  explicit NodeDeclaredFeatures(const PluginContext& context)
      : Plugin(context),
        reason_(context.reasons.id(context.id, Code::kUnresolvable,
                                   {"node(s) didn't match Pod's required features"})) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    return cycle.shape.spec->needed_features.empty() ? PreFilterResult::skip() : PreFilterResult{};
  }

  Reach reach(const Shape&) const override { return Reach::kObject; }
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const std::vector<std::string>& needed = cycle.shape.spec->needed_features;
    if (needed.empty()) return {};
    reject_rows(keep, why, reason_, [&](std::uint32_t row) {
      const auto& declared = cycle.cluster.node(rows.node[row]).declared_features;
      return !std::includes(declared.begin(), declared.end(), needed.begin(), needed.end());
    });
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {
        {{{EventResource::kNode, action::kAdd | action::kUpdateNodeDeclaredFeature}, after_node},
         {{EventResource::kPod, action::kUpdate}, after_pod}}};
  }

 private:
  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_declared_features(const PluginContext& context) {
  return std::make_unique<NodeDeclaredFeatures>(context);
}

}  // namespace berth::scheduler
