// SPDX-License-Identifier: Apache-2.0
// From the queue to a node: one uninterrupted step for each pod.
#include <fmt/format.h>

#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

// What arrived meanwhile runs first, then deciding goes on.
constexpr int kAtOnce = 32;
constexpr Duration kSlice = 200us;

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

void Scheduler::wake() {
  if (!running_ || deciding_ || !paused_for_.empty()) return;
  deciding_ = true;
  woken_ = now();
  parts_.scope.post([this] { decide_some(); });
}

void Scheduler::decide_some() {
  deciding_ = false;
  const Instant start = now();
  const SchedulerMetrics& metrics = parts_.metrics;
  metrics.loop_lag.observe(seconds(start - woken_));
  int tried = 0;
  bool more = true;
  while (tried < kAtOnce && running_ && paused_for_.empty()) {
    QueuedPodPtr next = queue_->pop();
    more = next != nullptr;
    if (!more) break;  // on_ready tells when there is one
    ++tried;
    try_one(std::move(next));
    if (now() > start + kSlice) break;
  }
  metrics.loop_decisions.add(tried);
  metrics.loop_turn.observe(seconds(now() - start));
  if (more) wake();
}

Scheduler::ProfileState* Scheduler::profile_of(const Pod& pod) {
  for (const auto& profile : profiles_)
    if (profile->profile.name() == pod.spec->scheduler_name) return profile.get();
  return nullptr;
}

bool Scheduler::skip(const ProfileState& profile, const Pod& pod) {
  if (pod.deleting) {
    parts_.events.event(profile.profile.name(), pod, true, "FailedScheduling", "Scheduling",
                        "skip schedule deleting pod: " + pod.text(), nullptr);
    return true;
  }
  return cluster_.pod(pod.uid) != nullptr;  // assumed, or bound by somebody else
}

void Scheduler::try_one(QueuedPodPtr queued) {
  const PodPtr pod = queued->pod;
  ProfileState* const profile = profile_of(*pod);
  if (profile == nullptr || skip(*profile, *pod)) {
    queue_->done(pod->uid);
    return;
  }
  auto placement = std::make_shared<Placement>();
  placement->queued = std::move(queued);
  placement->profile = profile;
  placement->start = now();
  placement->pod = pod;
  placement->sampled = parts_.metrics.sample();
  if (!parts_.extenders.empty() && ask_extenders(placement)) return;
  conclude(placement, decide(*placement));
}

PluginProbe* Scheduler::probe_of(const Placement& placement) const {
  return placement.sampled ? placement.profile->decisions.get() : nullptr;
}

Decision Scheduler::decide(Placement& placement) {
  ProfileState& profile = *placement.profile;
  Decision decision = profile.decider->decide(
      placement.pod, {.extenders_silent = true, .probe = probe_of(placement)});
  const std::uint64_t hits = profile.decider->fast_path().stats().hits;
  if (hits != profile.hits_told)
    parts_.metrics.shape_hits.add(static_cast<double>(hits - profile.hits_told));
  profile.hits_told = hits;
  return decision;
}

bool Scheduler::still_wanted(const Placement& placement) const {
  const Pod& pod = *placement.pod;
  const PodPtr known = pending_pod(pod.ns, pod.name);
  return running_ && known && known->uid == pod.uid && !known->deleting &&
         cluster_.pod(pod.uid) == nullptr;
}

void Scheduler::conclude(const PlacementPtr& placement, Decision decision) {
  placement->profile->decisions->decided(decision);
  if (!decision.status.ok()) {
    refused(placement, std::move(decision));
    return;
  }
  parts_.metrics.algorithm(now() - placement->start);
  placement->nodes = cluster_.size();
  placement->fit = decision.feasible_count;
  placement->took = decision.took;
  placement->decided = now();
  placement->attempt = std::move(decision.attempt);
  placement->node = std::move(decision.node);
  place(placement);
}

void Scheduler::place(const PlacementPtr& placement) {
  placement->assumed = PodCompiler::placed(*placement->pod, placement->node);
  cluster_.assume_pod(placement->assumed);
  cache_changed();
  queue_->nominator().remove(*placement->pod);
  placement->stage_start = now();
  Status status = reserve(*placement);
  stage_ended(*placement, Stage::kReserve, status.code);
  if (status.ok()) {
    placement->stage_start = now();
    status = permit(*placement);
    stage_ended(*placement, Stage::kPermit, status.code);
  }
  if (status.ok() || status.code == Code::kWait) {
    begin_binding(placement);
    return;
  }
  give_up(*placement);
  if (!status.rejected()) {
    handle_failure(*placement, status, nullptr, status.message(), std::string());
    return;
  }
  const Diagnosis diagnosis = one_node_diagnosis(status, reasons_);
  handle_failure(*placement, status, &diagnosis, fit_error_text(diagnosis, ""), std::string());
}

Status Scheduler::reserve(Placement& placement) {
  for (Reserve* plugin : placement.profile->profile.reserve()) {
    const Instant since = placement.sampled ? now() : Instant{};
    Status status = plugin->reserve(placement.cycle(), placement.node);
    plugin_ran(placement, *plugin, Stage::kReserve, status.code, since);
    if (status.ok()) continue;
    status.plugin = plugin->id();
    if (!status.rejected())
      status = {
          Code::kError,
          {fmt::format("running Reserve plugin \"{}\": {}", plugin->name(), status.message())},
          plugin->id()};
    return status;
  }
  return {};
}

Status Scheduler::permit(Placement& placement) {
  for (Permit* plugin : placement.profile->profile.permit()) {
    const Instant since = placement.sampled ? now() : Instant{};
    PermitResult result = plugin->permit(placement.cycle(), placement.node);
    plugin_ran(placement, *plugin, Stage::kPermit, result.status.code, since);
    if (result.status.ok()) continue;
    if (result.status.code == Code::kWait) {
      placement.waits.emplace_back(plugin->id(), result.timeout);
      continue;
    }
    Status status = std::move(result.status);
    status.plugin = plugin->id();
    if (!status.rejected())
      status = {Code::kError,
                {fmt::format("running Permit plugin \"{}\": {}", plugin->name(), status.message())},
                plugin->id()};
    return status;
  }
  return placement.waits.empty() ? Status{} : Status{Code::kWait};
}

bool Scheduler::give_up(Placement& placement) {
  placement.stage_start = now();
  const auto& plugins = placement.profile->profile.reserve();
  for (auto at = plugins.rbegin(); at != plugins.rend(); ++at)
    (*at)->unreserve(placement.cycle(), placement.node);
  stage_ended(placement, Stage::kUnreserve, Code::kSuccess);
  cache_changed();
  return cluster_.forget_pod(placement.pod->uid);
}

}  // namespace berth::scheduler
