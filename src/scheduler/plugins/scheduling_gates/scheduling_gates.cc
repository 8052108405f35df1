// SPDX-License-Identifier: Apache-2.0
// Keeps pods out of the queue until all of their scheduling gates are removed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scheduler/framework/plugin.h"

namespace berth::scheduler {
namespace {

class SchedulingGates final : public PreEnqueue {
 public:
  explicit SchedulingGates(const PluginContext& context) : Plugin(context) {}

  Status pre_enqueue(const Pod& pod) const override {
    if (pod.spec->gates.empty()) return {};
    return Status::unresolvable(
        fmt::format("waiting for scheduling gates: [{}]", fmt::join(pod.spec->gates, " ")));
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kPod, action::kUpdatePodGatesEliminated},
              [](const Pod& pod, const Change& change, const ClusterState&) {
                return change.pod_after && change.pod_after->uid == pod.uid ? Hint::kQueue
                                                                            : Hint::kSkip;
              }}}};
  }
};

}  // namespace

std::unique_ptr<Plugin> make_scheduling_gates(const PluginContext& context) {
  return std::make_unique<SchedulingGates>(context);
}

}  // namespace berth::scheduler
