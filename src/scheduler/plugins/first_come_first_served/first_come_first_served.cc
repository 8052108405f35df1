// SPDX-License-Identifier: Apache-2.0
// The simplest strategy there is: pods in the order in which they came, whatever their priority,
// each on the first node that fits. A pod that did not fit anywhere comes anew when it is tried
// again, so it does not hold up those behind it.
#include "scheduler/plugins/one_winner.h"

namespace berth::scheduler {
namespace {

class FirstComeFirstServed final : public QueueSort, public OneWinner {
 public:
  explicit FirstComeFirstServed(const PluginContext& context) : Plugin(context) {}

  bool less(const QueueEntry& a, const QueueEntry& b) const override {
    return a.timestamp < b.timestamp;
  }

 protected:
  std::uint32_t pick(const Cycle&, const FeasibleSummary& nodes) const override {
    return first_from(nodes.feasible, 0);
  }
};

}  // namespace

std::unique_ptr<Plugin> make_first_come_first_served(const PluginContext& context) {
  return std::make_unique<FirstComeFirstServed>(context);
}

}  // namespace berth::scheduler
