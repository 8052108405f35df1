// SPDX-License-Identifier: Apache-2.0
// Keeps a pod that names its node away from every other node.
#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

class NodeName final : public Filter {
 public:
  explicit NodeName(const PluginContext& context)
      : Plugin(context),
        reason_(context.reasons.id(context.id, Code::kUnresolvable,
                                   {"node(s) didn't match the requested node name"})) {}

  // A name is no part of a spec that pods share.
  void shape_key(const Pod& pod, const ClusterState&, std::string& key) const override {
    key += pod.node_name;
  }
  Reach reach(const Shape&) const override { return Reach::kObject; }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    if (cycle.pod.node_name.empty()) return {};
    const NodeId wanted = cycle.cluster.node_id(cycle.pod.node_name);
    const NodeId* node = rows.node;
    reject_rows(keep, why, reason_, [=](std::uint32_t row) { return node[row] != wanted; });
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kNode, action::kAdd}}}};
  }

 private:
  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_name(const PluginContext& context) {
  return std::make_unique<NodeName>(context);
}

}  // namespace berth::scheduler
