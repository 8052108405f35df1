// SPDX-License-Identifier: Apache-2.0
// Places each pod on the next node that fits, in the order of nodes, after the one used last.
//
// It does not order the queue. Taking turns among namespaces means to know how often each was
// served, but an order may only compare two pods: the queue is a heap, and an order that changes
// while pods lie in it would break it.
#include "scheduler/cache/cluster_state.h"
#include "scheduler/plugins/one_winner.h"

namespace berth::scheduler {
namespace {

class RoundRobin final : public OneWinner, public Reserve {
 public:
  explicit RoundRobin(const PluginContext& context) : Plugin(context) {}

  // Only now is it certain which node was used: another plugin may have outvoted this one.
  Status reserve(Cycle& cycle, const std::string& node) override {
    last_ = node;
    if (const auto row = cycle.cluster.row_of(node)) place_ = *row;
    return {};
  }
  void unreserve(Cycle&, const std::string&) override {}  // its turn is over nevertheless

 protected:
  std::uint32_t pick(const Cycle& cycle, const FeasibleSummary& nodes) const override {
    // The node's row may have moved; where it is gone, the next one has come to its place.
    const auto row = cycle.cluster.row_of(last_);
    return first_from(nodes.feasible, row ? *row + 1 : place_);
  }

 private:
  std::string last_;
  std::uint32_t place_ = 0;
};

}  // namespace

std::unique_ptr<Plugin> make_round_robin(const PluginContext& context) {
  return std::make_unique<RoundRobin>(context);
}

}  // namespace berth::scheduler
