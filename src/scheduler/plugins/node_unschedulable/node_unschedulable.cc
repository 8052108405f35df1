// SPDX-License-Identifier: Apache-2.0
// Keeps pods off cordoned nodes, unless they tolerate the taint that cordoning stands for.
#include "kube/taint.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

bool tolerates_cordon(const PodSpec& spec) {
  static const kube::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return kube::tolerates(spec.tolerations, kCordon);
}

Hint after_node(const Pod&, const Change& change, const ClusterState&) {
  const bool was_closed = !change.node_before || change.node_before->unschedulable;
  return was_closed && !change.node_after->unschedulable ? Hint::kQueue : Hint::kSkip;
}

Hint after_tolerations(const Pod& pod, const Change& change, const ClusterState&) {
  const bool own = change.pod_after && change.pod_after->uid == pod.uid;
  return own && tolerates_cordon(*change.pod_after->spec) ? Hint::kQueue : Hint::kSkip;
}

class NodeUnschedulable final : public Filter {
 public:
  explicit NodeUnschedulable(const PluginContext& context)
      : Plugin(context),
        reason_(
            context.reasons.id(context.id, Code::kUnresolvable, {"node(s) were unschedulable"})) {}

  Reach reach(const Shape&) const override { return Reach::kObject; }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    if (tolerates_cordon(*cycle.shape.spec)) return {};
    const std::uint32_t* flags = rows.flags;
    reject_rows(keep, why, reason_, [flags](std::uint32_t row) {
      return (flags[row] & row_flag::kUnschedulable) != 0;
    });
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kNode, action::kAdd | action::kUpdateNodeTaint}, after_node},
             {{EventResource::kPod, action::kUpdatePodToleration}, after_tolerations}}};
  }

 private:
  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_unschedulable(const PluginContext& context) {
  return std::make_unique<NodeUnschedulable>(context);
}

}  // namespace berth::scheduler
