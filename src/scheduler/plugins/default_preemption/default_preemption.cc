// SPDX-License-Identifier: Apache-2.0
// Makes room for a pod that fits nowhere by evicting pods of lower priority.
#include "base/scope.h"
#include "scheduler/framework/services.h"
#include "scheduler/preemption/dry_run.h"
#include "scheduler/preemption/evictions.h"
#include "scheduler/preemption/scavenger_door.h"

namespace berth::scheduler {
namespace {

using Candidates = std::vector<PreemptionCandidate>;

PostFilterResult failed(const std::string& message) {
  return {Status::error("preemption: " + message)};
}

class DefaultPreemption final : public PostFilter, public PreEnqueue {
 public:
  explicit DefaultPreemption(const PluginContext& context)
      : Plugin(context), profile_(*context.profile), services_(context.services) {
    if (const auto* args = std::get_if<DefaultPreemptionArgs>(&context.args)) args_ = *args;
    if (services_ != nullptr) evictions_.emplace(*services_, context.id);
  }

  // k8s 1.36: deletions wake the pod through the plugins that refused it, never through this one.
  std::optional<std::vector<EventInterest>> events() const override {
    if (!asynchronous()) return std::vector<EventInterest>{};
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
    if (!asynchronous() || (services_ != nullptr && services_->extenders_preempt(cycle.pod)))
      return {Status{Code::kWait}};
    Search search = look(cycle, diagnosis);
    if (search.candidates.empty()) return std::move(search.nothing);
    const PreemptionCandidate& best = best_of(search.candidates);
    if (evictions_) evictions_->start(search.preemptor, best);
    return {Status{}, best.node};
  }

  void post_filter_later(Cycle& cycle, const Diagnosis& diagnosis,
                         Done<PostFilterResult> done) override {
    Search search = look(cycle, diagnosis);
    if (search.candidates.empty()) return done(std::move(search.nothing));
    if (!services_->extenders_preempt(cycle.pod))
      return preempt(search.preemptor, search.candidates, std::move(done));
    services_->ask_to_preempt(
        search.preemptor, std::move(search.candidates),
        services_->scope().done<Candidates>(
            kNoLimit, [this, preemptor = search.preemptor,
                       done = std::move(done)](Result<Candidates> left) mutable {
              if (!left) return done(failed(left.error().message));
              const PodPtr now = services_->pending_pod(preemptor->ns, preemptor->name);
              if (!now || now->uid != preemptor->uid || now->deleting)
                return done(failed("the pod is gone"));  // nobody is to be evicted for it
              preempt(preemptor, *left, std::move(done));
            }));
  }

 private:
  struct Search {
    PodPtr preemptor = nullptr;
    Candidates candidates = {};
    PostFilterResult nothing = {Status{}};  // the answer where there is no candidate
  };

  bool asynchronous() const { return services_ == nullptr || services_->preempts_asynchronously(); }

  Search look(Cycle& cycle, const Diagnosis& diagnosis) {
    PreemptionQuestion question{profile_, cycle, diagnosis};
    question.args = args_;
    Search search;
    if (services_ != nullptr) {
      services_->preemption_attempted();
      search.preemptor = services_->pending_pod(cycle.pod.ns, cycle.pod.name);
      if (!search.preemptor) {
        search.nothing = failed("pod \"" + cycle.pod.name + "\" not found");
        return search;
      }
      question.preemptor = search.preemptor.get();
      question.nominated = &services_->nominated();
      question.now = now();
      question.random = &services_->random();
    }
    if (const std::optional<std::string> why = not_eligible(question)) {
      search.nothing = {Status::unschedulable("preemption: " + *why)};
      return search;
    }
    ScavengerDoor* const door = services_ != nullptr ? services_->scavengers() : nullptr;
    if (door != nullptr) {
      if (door->waits(*search.preemptor)) return asked_for_time(std::move(search));
      question.scavengers = &door->board();
      question.shrink_first = door->may_shrink(*search.preemptor);
    }
    PreemptionAnswer answer = find_candidates(question);
    if (answer.lost &&
        door->chosen(search.preemptor, *answer.lost) == ScavengerDoor::Verdict::kWait)
      return asked_for_time(std::move(search));
    search.candidates = std::move(answer.candidates);
    if (!search.candidates.empty()) return search;
    search.nothing = {Status{answer.status.code, {"preemption: " + answer.status.message()}}};
    if (answer.status.rejected()) search.nothing.nominate = "";
    return search;
  }

  // Their pods' end wakes this one.
  static Search asked_for_time(Search search) {
    search.nothing = {Status::unschedulable(
        "preemption: scavenger jobs were asked to make room and have time for a checkpoint")};
    search.nothing.nominate = "";
    return search;
  }

  WallTime now() const {
    return services_ == nullptr ? WallTime{} : services_->scope().executor().clock().wall();
  }
  const PreemptionCandidate& best_of(const Candidates& candidates) const {
    return candidates[best_candidates(candidates, now()).front()];
  }

  void preempt(const PodPtr& preemptor, const Candidates& candidates, Done<PostFilterResult> done) {
    if (candidates.empty()) {
      done(PostFilterResult{Status::unschedulable("preemption: no candidate node for preemption")});
      return;
    }
    const PreemptionCandidate& best = best_of(candidates);
    if (asynchronous()) {
      evictions_->start(preemptor, best);
      return done(PostFilterResult{Status{}, best.node});
    }
    services_->pause_for(*preemptor);
    evictions_->run(preemptor, best,
                    [node = best.node, done = std::move(done)](Result<Ok> evicted) mutable {
                      if (evicted)
                        done(PostFilterResult{Status{}, std::move(node)});
                      else
                        done(failed(evicted.error().message));
                    });
  }

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
