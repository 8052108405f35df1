// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes with taints they do not tolerate, and prefers nodes with few that they
// dislike. Which toleration meets which taint is worked out once for each list of taints.
#include <algorithm>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

struct Part final : ShapePart {
  std::shared_ptr<const TolerationVerdicts> verdicts;
};

bool untolerated(const PodSpec& spec, const Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const kube::Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           !kube::tolerates(spec.tolerations, taint);
  });
}

Hint after_node(const Pod& pod, const Change& change, const ClusterState&) {
  const bool was_closed = !change.node_before || untolerated(*pod.spec, *change.node_before);
  return was_closed && !untolerated(*pod.spec, *change.node_after) ? Hint::kQueue : Hint::kSkip;
}

Hint after_tolerations(const Pod& pod, const Change& change, const ClusterState&) {
  return change.pod_after && change.pod_after->uid == pod.uid ? Hint::kQueue : Hint::kSkip;
}

class TaintToleration final : public Filter, public Score {
 public:
  explicit TaintToleration(const PluginContext& context)
      : Plugin(context),
        reason_(context.reasons.id(context.id, Code::kUnresolvable,
                                   {"node(s) had untolerated taint(s)"})) {}

  std::unique_ptr<ShapePart> compile(const Pod& pod, ClusterState& cluster) const override {
    auto part = std::make_unique<Part>();
    part->verdicts = cluster.tolerations(pod.spec->tolerations);
    return part;
  }

  Reach reach(const Shape&) const override { return Reach::kObject; }
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const TolerationVerdicts& verdicts = *cycle.part<Part>(slot()).verdicts;
    const TaintSetId* taints = rows.taints;
    reject_rows(keep, why, reason_, [&verdicts, taints](std::uint32_t row) {
      return taints[row] != TaintSetId::kNone && !verdicts.of(taints[row]).passes;
    });
    return {};
  }

  Reach score_reach(const Shape&) const override { return Reach::kObject; }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    const TolerationVerdicts& verdicts = *cycle.part<Part>(slot()).verdicts;
    const TaintSetId* taints = rows.taints;
    std::int64_t* out = raw.data();
    for_each_run(of, [&](std::uint32_t begin, std::uint32_t end) {
      for (std::uint32_t row = begin; row < end; ++row)
        out[row] = taints[row] == TaintSetId::kNone ? 0 : verdicts.of(taints[row]).disliked;
    });
    return {};
  }
  Normalize normalization() const override { return Normalize::kDefaultReversed; }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kNode, action::kAdd | action::kUpdateNodeTaint}, after_node},
             {{EventResource::kPod, action::kUpdatePodToleration}, after_tolerations}}};
  }

 private:
  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_taint_toleration(const PluginContext& context) {
  return std::make_unique<TaintToleration>(context);
}

}  // namespace berth::scheduler
