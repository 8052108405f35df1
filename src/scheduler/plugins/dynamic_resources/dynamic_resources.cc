// SPDX-License-Identifier: Apache-2.0
// Stands in for kube-scheduler's DynamicResources: Berth does not allocate devices. A pod with
// resource claims stays pending and says so; all other pods meet what they meet there, down to its
// share of the texts. It takes part wherever kube-scheduler's does, so that configurations for that
// one are understood.
#include <algorithm>

#include "scheduler/framework/plugin.h"

namespace berth::scheduler {
namespace {

struct Ran final : CycleState {};  // PreFilter ran in this attempt

class DynamicResources final : public PreEnqueue,
                               public Filter,
                               public PostFilter,
                               public Score,
                               public Reserve,
                               public PreBind {
 public:
  explicit DynamicResources(const PluginContext& context) : Plugin(context) {}

  // Gated pods get no event; these should have one, so they are let in and refused below.
  Status pre_enqueue(const Pod&) const override { return {}; }

  PreFilterResult prepare(Cycle& cycle) const override {
    cycle.emplace_state<Ran>(slot());
    if (!cycle.shape.spec->has_resource_claims) return PreFilterResult::skip();
    return {Status::unresolvable("pod has resource claims, which Berth does not allocate yet")};
  }
  Reach reach(const Shape&) const override { return Reach::kObject; }
  Status filter(const Cycle&, const Rows&, RowSet&, Rejections*) const override { return {}; }

  PostFilterResult post_filter(Cycle& cycle, const Diagnosis&) override {
    // k8s 1.36: another plugin ended PreFilter before this one's turn; preemption is not tried.
    if (cycle.state<Ran>(slot()) == nullptr) return {Status::error("not found")};
    return {Status::unschedulable(cycle.shape.spec->has_resource_claims
                                      ? "still not schedulable"
                                      : "no new claims to deallocate")};
  }

  Reach score_reach(const Shape&) const override { return Reach::kObject; }
  Status score(const Cycle&, const Rows&, const RowSet&,
               std::span<std::int64_t> raw) const override {
    std::fill(raw.begin(), raw.end(), 0);
    return {};
  }

  Status reserve(Cycle&, const std::string&) override { return {}; }
  void unreserve(Cycle&, const std::string&) override {}

  Status pre_bind_pre_flight(Cycle&, const std::string&) override { return Status::skip(); }
  void pre_bind(Cycle&, const std::string&, Done<Status> done) override { done(Status{}); }

  // Nothing that happens makes such a pod fit.
  std::optional<std::vector<EventInterest>> events() const override {
    return std::vector<EventInterest>{};
  }
};

}  // namespace

std::unique_ptr<Plugin> make_dynamic_resources(const PluginContext& context) {
  return std::make_unique<DynamicResources>(context);
}

}  // namespace berth::scheduler
