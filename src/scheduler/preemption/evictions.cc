// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preemption/evictions.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/scope.h"
#include "client/api.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::scheduler {
namespace {

constexpr Duration kCallLimit = 60s;

}  // namespace

Evictions::RunPtr Evictions::run_of(const PodPtr& preemptor, const PreemptionCandidate& candidate) {
  auto run = std::make_shared<Run>();
  run->preemptor = preemptor;
  run->node = candidate.node;
  for (const PodPtr& victim : candidate.victims)
    if (!victim->deleting) run->victims.push_back(victim);  // the others are on their way out
  return run;
}

// Pods of lower priority that were promised this node may not fit any more. One that is in flight,
// as the preemptor is, shows neither its priority nor its status, and keeps its promise.
void Evictions::clear_lesser_nominations(const Run& run) {
  for (const PodPtr& other : services_.nominated().on(run.node))
    if (other->priority() < run.preemptor->priority() && !other->nominated_node_name.empty())
      services_.clear_nomination(*other);
}

void Evictions::start(const PodPtr& preemptor, const PreemptionCandidate& candidate) {
  const RunPtr run = run_of(preemptor, candidate);
  if (run->victims.empty()) return;
  run->started = services_.scope().executor().clock().now();
  services_.preempted(candidate.victims.size());
  running_[preemptor->uid] = run;
  clear_lesser_nominations(*run);
  run->pending = run->victims.size() - 1;
  if (run->pending == 0) {
    one_done(run, Ok{});
    return;
  }
  for (std::size_t i = 0; i + 1 < run->victims.size(); ++i) evict(run, run->victims[i]);
}

void Evictions::run(const PodPtr& preemptor, const PreemptionCandidate& candidate,
                    Fn<void(Result<Ok>)> done) {
  const RunPtr run = run_of(preemptor, candidate);
  services_.preempted(candidate.victims.size());
  run->awaited = true;
  run->done = std::move(done);
  run->pending = run->victims.size();
  if (run->victims.empty()) services_.scope().post([this, run] { settle(run, Ok{}); });
  for (const PodPtr& victim : run->victims) evict(run, victim);
}

// For who waits; once.
void Evictions::settle(const RunPtr& run, Result<Ok> result) {
  if (!run->done) return;
  if (result) clear_lesser_nominations(*run);
  Fn<void(Result<Ok>)> done = std::move(run->done);
  run->done = nullptr;
  done(std::move(result));
}

bool Evictions::holds(const Pod& preemptor) const {
  const auto found = running_.find(preemptor.uid);
  if (found == running_.end()) return false;
  const Run& run = *found->second;
  if (!run.last) return true;
  const PodPtr victim = services_.placed_pod(run.victims.back()->uid);
  return victim && !victim->deleting;
}

bool Evictions::evict_in_memory(const Pod& victim) {
  if (WaitingPod* waits = services_.waiting(victim.uid)) {
    waits->preempt(plugin_, "preempted");
    return true;
  }
  return services_.cancel_pre_bind(victim.uid);
}

void Evictions::evict(const RunPtr& run, const PodPtr& victim) {
  if (evict_in_memory(*victim)) {
    told(run, victim, true);
    services_.scope().post([this, run] { one_done(run, Ok{}); });
    return;
  }
  json::Writer out;
  out.object().member("status").object().member("conditions").array().object();
  out.member("type").string("DisruptionTarget").member("status").string("True");
  out.member("reason").string("PreemptionByScheduler").member("message");
  out.string(run->preemptor->spec->scheduler_name +
             ": preempting to accommodate a higher priority pod");
  if (victim->generation > 0) out.member("observedGeneration").integer(victim->generation);
  out.member("lastProbeTime").null().member("lastTransitionTime");
  out.string(kube::time_text(services_.scope().executor().clock().wall()));
  out.end().end().end().end();
  services_.api().patch(
      kube::kPod, {victim->ns, victim->name}, out.take(), kube::PatchType::kStrategic,
      services_.scope().done<kube::Object>(
          kCallLimit,
          [this, run, victim](Result<kube::Object> result) {
            if (result) return erase(run, victim);
            if (result.error().reason == Reason::kNotFound) return one_done(run, Ok{});
            services_.log().warn("victim could not be told of its eviction",
                                 {{"victim", victim->text()}, {"error", result.error()}});
            one_done(run, tl::unexpected(std::move(result.error())));
          }),
      "status");
}

void Evictions::erase(const RunPtr& run, const PodPtr& victim) {
  kube::Options only;
  only.precondition_uid = victim->uid;  // a namesake that came since must live
  services_.api().erase(
      kube::kPod, {victim->ns, victim->name},
      services_.scope().done<Ok>(
          kCallLimit,
          [this, run, victim](Result<Ok> result) {
            const bool gone = !result && (result.error().reason == Reason::kNotFound ||
                                          result.error().reason == Reason::kConflict);
            if (result) told(run, victim, false);
            if (result || gone) return one_done(run, Ok{});
            services_.log().warn("victim could not be evicted",
                                 {{"victim", victim->text()}, {"error", result.error()}});
            one_done(run, std::move(result));
          }),
      only);
}

void Evictions::told(const RunPtr& run, const PodPtr& victim, bool in_memory) {
  services_.event(*victim, false, "Preempted", "Preempting",
                  fmt::format("Preempted by pod {} on node {}{}", run->preemptor->uid, run->node,
                              in_memory ? " (in kube-scheduler memory)." : ""),
                  run->preemptor.get());
}

void Evictions::one_done(const RunPtr& run, Result<Ok> result) {
  if (run->awaited) {
    if (!result || --run->pending == 0) settle(run, std::move(result));
    return;
  }
  run->failed = run->failed || !result;
  if (run->pending > 0 && --run->pending > 0) return;
  if (run->last || run->failed) {
    finish(run);
    return;
  }
  run->last = true;
  run->pending = 1;
  evict(run, run->victims.back());
}

void Evictions::finish(const RunPtr& run) {
  if (const auto found = running_.find(run->preemptor->uid);
      found != running_.end() && found->second == run)
    running_.erase(found);
  services_.evictions_ended(!run->failed,
                            services_.scope().executor().clock().now() - run->started);
  // It might wait for a deletion that will not come.
  if (run->failed) services_.activate({run->preemptor});
}

}  // namespace berth::scheduler
