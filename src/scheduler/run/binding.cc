// SPDX-License-Identifier: Apache-2.0
// From a node in our mind to a node in the API server. Other pods are tried meanwhile; the pod's
// place is held by the cluster state.
#include <fmt/format.h>

#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

// A plugin bounds its own calls; this only keeps a forgotten answer from holding a place for ever.
constexpr Duration kForgotten = 24h;

}  // namespace

void Scheduler::begin_binding(const PlacementPtr& placement) {
  binding_[placement->pod->uid] = placement;
  parts_.metrics.under_way(Operation::kBinding, +1);
  placement->stage_start = now();
  for (PreBind* plugin : placement->profile->profile.pre_bind()) {
    const Instant since = placement->sampled ? now() : Instant{};
    const Status status = plugin->pre_bind_pre_flight(placement->cycle(), placement->node);
    plugin_ran(*placement, *plugin, Stage::kPreBindPreFlight, status.code, since);
    if (status.skipped()) continue;
    if (!status.ok()) {
      stage_ended(*placement, Stage::kPreBindPreFlight, Code::kError);
      std::string text =
          status.code == Code::kError
              ? fmt::format("running PreBindPreFlight \"{}\": {}", plugin->name(), status.message())
              : fmt::format(
                    "PreBindPreFlight {} returned \"{}\", which is "
                    "unsupported. It is supposed to return Success, Skip, "
                    "or Error status",
                    plugin->name(), name_of(status.code));
      binding_failed(placement, {Code::kError, {std::move(text)}, plugin->id()});
      return;
    }
    placement->pre_binds.push_back(plugin);
  }
  stage_ended(*placement, Stage::kPreBindPreFlight,
              placement->pre_binds.empty() ? Code::kSkip : Code::kSuccess);
  if (placement->pre_binds.empty() && placement->waits.empty()) {
    permitted(placement, {});
    return;
  }
  if (!placement->waits.empty())
    waiting_->add(placement->assumed, placement->waits, [this, placement](Status status) {
      placement->permission = std::move(status);
      if (placement->announced) permitted(placement, *placement->permission);
    });
  // Others, a cluster autoscaler say, may know where it will be.
  patch_status(*placement->pod, nullptr, placement->node,
               [this, placement] { wait_on_permit(placement); });
}

void Scheduler::wait_on_permit(const PlacementPtr& placement) {
  placement->announced = true;
  placement->stage_start = now();
  if (placement->waits.empty())
    permitted(placement, {});
  else if (placement->permission)
    permitted(placement, *placement->permission);
}

void Scheduler::permitted(const PlacementPtr& placement, const Status& status) {
  if (!placement->waits.empty())
    parts_.metrics.permit_waited(status.code, now() - placement->stage_start);
  if (status.rejected()) {
    binding_failed(placement, status, true);
    return;
  }
  if (!status.ok()) {
    binding_failed(
        placement,
        {Code::kError, {"waiting on permit for pod: " + status.message()}, status.plugin});
    return;
  }
  // Nothing that happens from here on can make the pod unschedulable; it could only fail.
  queue_->done(placement->pod->uid);
  placement->in_pre_bind = !placement->pre_binds.empty();
  placement->stage_start = now();
  pre_bind(placement, 0);
}

void Scheduler::pre_bind(const PlacementPtr& placement, std::size_t next) {
  if (placement->cancelled) {
    placement->in_pre_bind = false;
    binding_failed(placement, Status::error("preempted by DefaultPreemption"));
    return;
  }
  if (next == placement->pre_binds.size()) {
    placement->in_pre_bind = false;
    stage_ended(*placement, Stage::kPreBind, Code::kSuccess);
    bind(placement, 0);
    return;
  }
  PreBind* const plugin = placement->pre_binds[next];
  const Instant since = now();
  parts_.metrics.under_way(Operation::kPreBind, +1);
  plugin->pre_bind(placement->cycle(), placement->node,
                   parts_.scope.done<Status>(
                       kForgotten, [this, placement, next, plugin, since](Result<Status> result) {
                         Status status = result ? *result : Status::error(result.error().message);
                         parts_.metrics.under_way(Operation::kPreBind, -1);
                         plugin_ran(*placement, *plugin, Stage::kPreBind, status.code, since);
                         if (status.ok() || (status.skipped() && !placement->cancelled)) {
                           pre_bind(placement, next + 1);
                           return;
                         }
                         placement->in_pre_bind = false;
                         stage_ended(*placement, Stage::kPreBind, status.code);
                         status.plugin = plugin->id();
                         if (!status.rejected())
                           status = {
                               Code::kError,
                               {fmt::format("running PreBind plugin \"{}\": {}", plugin->name(),
                                            placement->cancelled ? "preempted by DefaultPreemption"
                                                                 : status.message())},
                               plugin->id()};
                         binding_failed(placement, status);
                       }));
}

bool Scheduler::cancel_pre_bind(std::string_view uid) {
  const auto found = binding_.find(uid);
  if (found == binding_.end() || !found->second->in_pre_bind) return false;
  found->second->cancelled = true;
  return true;
}

bool Scheduler::pre_bind_cancelled(std::string_view uid) const {
  const auto found = binding_.find(uid);
  return found != binding_.end() && found->second->cancelled;
}

void Scheduler::bind(const PlacementPtr& placement, std::size_t next_extender) {
  if (!running_) {  // whoever leads next will try it
    abandon(placement);
    return;
  }
  for (std::size_t i = next_extender; i < parts_.extenders.size(); ++i) {
    Extender* const extender = parts_.extenders[i];
    if (!extender->binds() || !extender->interested(placement->pod->document)) continue;
    extender->bind({placement->pod->name, placement->pod->ns, placement->pod->uid, placement->node},
                   parts_.scope.done<Ok>(kForgotten, [this, placement, extender, i,
                                                      since = now()](Result<Ok> result) {
                     parts_.metrics.extender_call(extender->name(), "bind", result.has_value(),
                                                  now() - since);
                     if (result) {
                       bound(placement);
                     } else if (extender->ignorable()) {
                       parts_.log.warn("extender could not bind and is left out",
                                       {{"extender", extender->name()}, {"error", result.error()}});
                       bind(placement, i + 1);
                     } else {
                       binding_failed(placement, Status::error(result.error().message));
                     }
                   }));
    return;
  }
  placement->stage_start = now();
  bind_with(placement, 0);
}

void Scheduler::bind_with(const PlacementPtr& placement, std::size_t next) {
  const auto& plugins = placement->profile->profile.bind();
  if (next == plugins.size()) {
    stage_ended(*placement, Stage::kBind, Code::kSkip);
    binding_failed(placement, Status::error("no plugin wanted to bind the pod"));
    return;
  }
  Bind* const plugin = plugins[next];
  const Instant since = now();
  plugin->bind(placement->cycle(), placement->node,
               parts_.scope.done<Status>(
                   kForgotten, [this, placement, next, plugin, since](Result<Status> result) {
                     const Code code = result ? result->code : Code::kError;
                     plugin_ran(*placement, *plugin, Stage::kBind, code, since);
                     if (code == Code::kSkip) {
                       bind_with(placement, next + 1);
                       return;
                     }
                     stage_ended(*placement, Stage::kBind, code);
                     if (!result) {
                       bind_refused(placement, *plugin, result.error());
                     } else if (result->ok()) {
                       bound(placement);
                     } else if (result->rejected()) {
                       binding_failed(placement, {code, result->reasons, plugin->id()});
                     } else {
                       binding_failed(placement, {Code::kError,
                                                  {fmt::format("running Bind plugin \"{}\": {}",
                                                               plugin->name(), result->message())},
                                                  plugin->id()});
                     }
                   }));
}

void Scheduler::bind_refused(const PlacementPtr& placement, const Bind& plugin,
                             const Error& error) {
  const std::string& uid = placement->pod->uid;
  if (const PodPtr seen = cluster_.pod(uid);
      seen && !cluster_.assumed(uid) && seen->node_name == placement->node) {
    bound(placement);  // the watch knows better
    return;
  }
  if (error.reason == Reason::kCancelled) {  // our time is over, not the pod's
    abandon(placement);
    return;
  }
  if (client::Api::lost_race(error)) {
    parts_.metrics.bind_lost_race.add();
    parts_.log.info("somebody else was faster to bind a pod",
                    {{"pod", placement->pod->text()}, {"error", error}});
    abandon(placement);
    return;
  }
  if (error.reason == Reason::kNotFound) {
    abandon(placement);
    return;
  }
  if (error.outcome == Outcome::kUnknown) parts_.metrics.bind_unknown.add();
  binding_failed(placement,
                 {Code::kError,
                  {fmt::format("running Bind plugin \"{}\": {}", plugin.name(), error.message)},
                  plugin.id()});
}

void Scheduler::bound(const PlacementPtr& placement) {
  const Pod& pod = *placement->pod;
  const QueuedPod& queued = *placement->queued;
  ProfileState& profile = *placement->profile;
  parts_.log.debug("bound pod to node", {{"pod", pod.text()}, {"node", placement->node}});
  profile.metrics.attempt(AttemptResult::kScheduled, now() - placement->start);
  parts_.metrics.scheduled(queued.attempts,
                           now() - queued.initial_attempt_timestamp.value_or(placement->start));
  if (queued.was_flushed) parts_.metrics.scheduled_after_flush.add();
  if (parts_.observer != nullptr)
    parts_.observer->attempted({.pod = pod,
                                .outcome = AttemptReport::Outcome::kPlaced,
                                .node = placement->node,
                                .attempt = queued.attempts,
                                .took = now() - placement->start,
                                .stages = placement->took,
                                .bind = now() - placement->decided,
                                .nodes = placement->nodes,
                                .fit = placement->fit});
  parts_.events.event(profile.profile.name(), pod, false, "Scheduled", "Binding",
                      fmt::format("Successfully assigned {} to {}", pod.text(), placement->node),
                      nullptr);
  placement->stage_start = now();
  for (PostBind* plugin : profile.profile.post_bind()) {
    const Instant since = placement->sampled ? now() : Instant{};
    plugin->post_bind(placement->cycle(), placement->node);
    plugin_ran(*placement, *plugin, Stage::kPostBind, Code::kSuccess, since);
  }
  stage_ended(*placement, Stage::kPostBind, Code::kSuccess);
  binding_ended(placement);
}

void Scheduler::binding_failed(const PlacementPtr& placement, const Status& status, bool fit) {
  const bool freed = give_up(*placement);
  Change change{.event = {EventResource::kAssignedPod, action::kDelete}};
  change.pod_before = placement->assumed;
  if (freed && !status.rejected()) queue_->move_all(change);
  if (fit) {
    const Diagnosis diagnosis = one_node_diagnosis(status, reasons_);
    handle_failure(*placement, status, &diagnosis, fit_error_text(diagnosis, ""), std::string());
  } else {
    handle_failure(*placement, status, nullptr, status.message(), std::string());
  }
  // After it was put back, and without it: its own place is not news to it.
  if (freed && status.rejected())
    queue_->move_all(change,
                     [&uid = placement->pod->uid](const Pod& pod) { return pod.uid != uid; });
  binding_ended(placement);
}

void Scheduler::abandon(const PlacementPtr& placement) {
  placement->profile->metrics.attempt(AttemptResult::kError, now() - placement->start);
  const bool freed = give_up(*placement);
  queue_->done(placement->pod->uid);
  Change change{.event = {EventResource::kAssignedPod, action::kDelete}};
  change.pod_before = placement->assumed;
  if (freed) queue_->move_all(change);
  binding_ended(placement);
}

void Scheduler::binding_ended(const PlacementPtr& placement) {
  parts_.metrics.under_way(Operation::kBinding, -1);
  if (const auto found = binding_.find(placement->pod->uid);
      found != binding_.end() && found->second == placement)
    binding_.erase(found);
  if (!running_ && binding_.empty() && stopped_) parts_.scope.post(std::move(stopped_));
}

}  // namespace berth::scheduler
