// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes where a host port they want is taken.
#include <algorithm>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kAnyIp = "0.0.0.0";

bool ips_meet(std::string_view a, std::string_view b) {
  return a == kAnyIp || b == kAnyIp || a == b;
}

bool conflict(const std::vector<HostPort>& wanted, const std::vector<HostPort>& held) {
  for (const HostPort& want : wanted)
    for (const HostPort& has : held)
      if (want.port == has.port && want.protocol == has.protocol && ips_meet(want.ip, has.ip))
        return true;
  return false;
}

Hint after_pod_gone(const Pod& pod, const Change& change, const ClusterState&) {
  const Pod* gone = change.pod_before.get();
  if (gone == nullptr) return Hint::kQueue;
  if (!gone->assigned() && gone->nominated_node_name.empty()) return Hint::kSkip;
  return conflict(pod.spec->host_ports, gone->spec->host_ports) ? Hint::kQueue : Hint::kSkip;
}

class NodePorts final : public Filter {
 public:
  explicit NodePorts(const PluginContext& context)
      : Plugin(context),
        reason_(
            context.reasons.id(context.id, Code::kUnschedulable,
                               {"node(s) didn't have free ports for the requested pod ports"})) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    return cycle.shape.spec->host_ports.empty() ? PreFilterResult::skip() : PreFilterResult{};
  }

  Reach reach(const Shape&) const override { return Reach::kRow; }
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const std::vector<HostPort>& wanted = cycle.shape.spec->host_ports;
    if (wanted.empty()) return {};
    if (rows.columns == &cycle.cluster.table()) {
      by_users(cycle.cluster, wanted, rows, keep, why);
      return {};
    }
    keep.for_each([&](std::uint32_t row) {
      if ((rows.flags[row] & row_flag::kHasPorts) == 0) return;
      bool taken = false;
      rows.for_each_pod(
          row, [&](const Pod& pod) { taken = taken || conflict(wanted, pod.spec->host_ports); });
      if (taken) reject(row, keep, why);
    });
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kPod, action::kDelete}, after_pod_gone},
             {{EventResource::kNode, action::kAdd}}}};
  }

 private:
  void reject(std::uint32_t row, RowSet& keep, Rejections* why) const {
    keep.erase(row);
    if (why != nullptr) why->reject(row, reason_);
  }
  // In the whole table only the nodes that hold one of the ports are looked at.
  void by_users(const ClusterState& cluster, const std::vector<HostPort>& wanted, const Rows& rows,
                RowSet& keep, Rejections* why) const {
    for (const HostPort& want : wanted) {
      const std::vector<PortUse>* users = cluster.port_users(want.protocol, want.port);
      if (users == nullptr) continue;
      for (const PortUse& use : *users) {
        if (!ips_meet(want.ip, use.ip)) continue;
        const std::optional<std::uint32_t> at = cluster.row_of(use.node);
        if (!at || *at < rows.begin || *at - rows.begin >= rows.size) continue;
        if (keep.has(*at - rows.begin)) reject(*at - rows.begin, keep, why);
      }
    }
  }

  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_ports(const PluginContext& context) {
  return std::make_unique<NodePorts>(context);
}

}  // namespace berth::scheduler
