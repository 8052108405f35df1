// SPDX-License-Identifier: Apache-2.0
// Places a pod on a node drawn at random from those that fit: the plugin to read first, and the
// baseline that every other strategy should beat. Enable it in a profile with the other scorers
// disabled.
//
// One attempt goes through it like this:
//   PreScore  sees all nodes that fit, and notes how many there are
//   Score     is asked about one node after the other, and draws one of them: it gets 100, the
//             others 0
//   Reserve   the framework chose a node, normally the one drawn: note that it was promised
//   PostBind  the API server has bound the pod: log where it went
#include "base/random.h"

#include "base/log.h"
#include "scheduler/framework/node_by_node.h"
#include "scheduler/framework/services.h"

namespace berth::scheduler {
namespace {

// What is remembered during one attempt. A plugin lives as long as its profile, an attempt's memory
// in its Cycle.
struct Draw final : CycleState {
  std::uint32_t fit = 0;   // nodes that fit
  std::uint32_t left = 0;  // of those, the ones that Score has not been asked about
  bool drawn = false;
};

class Random final : public ScoreNodeByNode, public Reserve, public PostBind {
 public:
  // Chance comes from the services, never from the system, so that a simulation can be repeated.
  // Where there are none (explain), always the same numbers will do.
  explicit Random(const PluginContext& context)
      : Plugin(context),
        services_(context.services),
        chance_(services_ != nullptr ? services_->random().fork(context.name) : berth::Random(0)) {}

  Status prepare_score(Cycle& cycle, const FeasibleSummary& nodes) const override {
    Draw& draw = cycle.emplace_state<Draw>(slot());
    draw.fit = draw.left = nodes.count;
    return {};
  }

  // The first of n nodes is drawn with a chance of 1/n; if it was not, the first of the other n - 1
  // with a chance of 1/(n - 1), and so on: each is drawn with a chance of 1/n.
  std::int64_t points(const Cycle& cycle, const NodeView&) const override {
    Draw* draw = cycle.state<Draw>(slot());
    if (draw == nullptr || draw->drawn) return 0;  // null: the profile leaves out PreScore
    draw->drawn = chance_.below(draw->left--) == 0;
    return draw->drawn ? 100 : 0;
  }

  Status reserve(Cycle&, const std::string&) override {
    ++promised_;
    return {};
  }
  // Something went wrong after Reserve: take back what it did.
  void unreserve(Cycle&, const std::string&) override { --promised_; }

  void post_bind(Cycle& cycle, const std::string& node) override {
    if (services_ == nullptr) return;
    const Draw* draw = cycle.state<Draw>(slot());  // null: one node fitted, nothing was scored
    services_->log().info("placed at random", {{"pod", cycle.pod.text()},
                                               {"node", node},
                                               {"nodes", draw != nullptr ? draw->fit : 1},
                                               {"pods", promised_}});
  }

 private:
  Services* services_;
  mutable berth::Random chance_;
  std::uint64_t promised_ = 0;  // pods that got a node, and kept it so far
};

}  // namespace

std::unique_ptr<Plugin> make_random(const PluginContext& context) {
  return std::make_unique<Random>(context);
}

}  // namespace berth::scheduler
