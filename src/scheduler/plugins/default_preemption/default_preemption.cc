// SPDX-License-Identifier: Apache-2.0
// Makes room for a pod that fits nowhere by evicting pods of lower priority.
#include "base/scope.h"
#include "scheduler/framework/services.h"
#include "scheduler/preemption/dry_run.h"
#include "scheduler/preemption/evictions.h"

namespace berth::scheduler {
namespace {

class DefaultPreemption final : public PostFilter, public PreEnqueue {
 public:
  explicit DefaultPreemption(const PluginContext& context)
      : Plugin(context), profile_(*context.profile), services_(context.services) {
    if (const auto* args = std::get_if<DefaultPreemptionArgs>(&context.args)) args_ = *args;
    if (services_ != nullptr) evictions_.emplace(*services_, context.id);
  }

  // k8s 1.36: deletions wake the pod through the plugins that refused it, never through this one.
  std::optional<std::vector<EventInterest>> events() const override {
    return std::vector<EventInterest>{
        {{EventResource::kPod, action::kDelete},
         [](const Pod&, const Change&, const ClusterState&) { return Hint::kSkip; }}};
  }

  Status pre_enqueue(const Pod& pod) const override {
    if (evictions_ && evictions_->holds(pod))
      return Status::unresolvable("waiting for the preemption for this pod to be finished");
    return {};
  }

  PostFilterResult post_filter(Cycle& cycle, const Diagnosis& diagnosis) override {
    PreemptionQuestion question{profile_, cycle, diagnosis};
    question.args = args_;
    PodPtr fresh;
    if (services_ != nullptr) {
      services_->preemption_attempted();
      fresh = services_->pending_pod(cycle.pod.ns, cycle.pod.name);
      if (!fresh) return {Status::error("pod \"" + cycle.pod.name + "\" not found")};
      question.preemptor = fresh.get();
      question.nominated = &services_->nominated();
      question.now = services_->scope().executor().clock().wall();
      question.random = &services_->random();
    }
    if (const std::optional<std::string> why = not_eligible(question))
      return {Status::unschedulable("preemption: " + *why)};
    const PreemptionAnswer answer = find_candidates(question);
    if (answer.candidates.empty())
      return {Status::unschedulable("preemption: " + answer.refusal), std::string()};
    const PreemptionCandidate& best =
        answer.candidates[best_candidates(answer.candidates, question.now).front()];
    if (evictions_) evictions_->start(fresh, best);
    return {Status{}, best.node};
  }

 private:
  const Profile& profile_;
  Services* services_;
  DefaultPreemptionArgs args_;
  std::optional<Evictions> evictions_;
};

}  // namespace

std::unique_ptr<Plugin> make_default_preemption(const PluginContext& context) {
  return std::make_unique<DefaultPreemption>(context);
}

}  // namespace berth::scheduler
