// SPDX-License-Identifier: Apache-2.0
// A pod fits nowhere: PostFilter plugins may make room for it, one after another, before it goes
// back into the queue. One of them may take its time; other pods are tried meanwhile.
#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {

struct Scheduler::Refusal {
  PlacementPtr placement;
  Decision decision;
  std::size_t next = 0;  // of the profile's PostFilter plugins
  PostFilterResult all = {Status{Code::kUnschedulable}};
};

// Nothing fits, or something went wrong on the way.
void Scheduler::refused(const PlacementPtr& placement, Decision decision) {
  if (!decision.status.rejected() || cluster_.size() == 0) {
    parts_.metrics.algorithm(now() - placement->start);
    handle_failure(*placement, decision.status, nullptr, decision.status.message(), std::string());
    return;
  }
  auto refusal = std::make_shared<Refusal>();
  refusal->placement = placement;
  placement->took = decision.took;
  refusal->decision = std::move(decision);
  if (placement->profile->profile.post_filters().empty()) {
    refusal->all.nominate = std::string();
    refusal_ended(refusal);
    return;
  }
  placement->stage_start = now();
  post_filter(refusal);
}

void Scheduler::post_filter(const RefusalPtr& refusal) {
  const auto& plugins = refusal->placement->profile->profile.post_filters();
  while (refusal->next < plugins.size()) {
    PostFilter& plugin = *plugins[refusal->next++];
    Cycle& cycle = refusal->decision.attempt->cycle;
    const Diagnosis& diagnosis = refusal->decision.diagnosis;
    const Instant since = now();
    PostFilterResult one = plugin.post_filter(cycle, diagnosis);
    if (one.status.code == Code::kWait) {
      plugin.post_filter_later(
          cycle, diagnosis,
          parts_.scope.done<PostFilterResult>(
              kNoLimit, [this, refusal, &plugin, since](Result<PostFilterResult> answer) {
                if (!answer || !still_wanted(*refusal->placement)) {
                  queue_->done(refusal->placement->pod->uid);
                  resume(*refusal->placement->pod);
                  return;
                }
                if (!answered(*refusal, plugin, std::move(*answer), since))
                  post_filter(refusal);
                else
                  post_filtered(refusal);
              }));
      return;
    }
    if (answered(*refusal, plugin, std::move(one), since)) break;
  }
  post_filtered(refusal);
}

// True: that settles it.
bool Scheduler::answered(Refusal& refusal, const PostFilter& plugin, PostFilterResult one,
                         Instant since) {
  plugin_ran(*refusal.placement, plugin, Stage::kPostFilter, one.status.code, since);
  PostFilterResult& all = refusal.all;
  one.status.plugin = plugin.id();
  if (one.status.ok() || one.status.code == Code::kUnresolvable) {
    all = std::move(one);
    return true;
  }
  if (!one.status.rejected()) {
    all = {Status{Code::kError, {one.status.message()}, plugin.id()}};
    return true;
  }
  if (one.nominate) all.nominate = std::move(one.nominate);
  all.status.reasons.insert(all.status.reasons.end(), one.status.reasons.begin(),
                            one.status.reasons.end());
  all.status.plugin = plugin.id();
  return false;
}

void Scheduler::post_filtered(const RefusalPtr& refusal) {
  stage_ended(*refusal->placement, Stage::kPostFilter, refusal->all.status.code);
  refusal_ended(refusal);
}

void Scheduler::refusal_ended(const RefusalPtr& refusal) {
  const PodPtr pod = refusal->placement->pod;
  const Diagnosis& diagnosis = refusal->decision.diagnosis;
  parts_.metrics.algorithm(now() - refusal->placement->start);
  handle_failure(*refusal->placement, refusal->decision.status, &diagnosis,
                 fit_error_text(diagnosis, refusal->all.status.message()), refusal->all.nominate);
  resume(*pod);
}

void Scheduler::resume(const Pod& pod) {
  if (paused_for_.erase(pod.uid) > 0) wake();
}

}  // namespace berth::scheduler
