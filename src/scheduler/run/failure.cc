// SPDX-License-Identifier: Apache-2.0
// A pod was not placed: back into the queue, an event for people, a condition for programs.
#include "json/writer.h"
#include "kube/time.h"
#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

// k8s 1.36: an event's note holds 1,024 bytes, and the cut shows.
std::string truncated(const std::string& message) {
  constexpr std::size_t kMost = 1024;
  constexpr std::string_view kCut = " ...";
  if (message.size() <= kMost) return message;
  return message.substr(0, kMost - kCut.size()) + std::string(kCut);
}

}  // namespace

void Scheduler::report_failure(const Placement& placement, const Status& status,
                               const Diagnosis* fit, std::string_view message) {
  std::vector<AttemptReport::Refusal> refused;
  if (fit != nullptr) refused = refusals_of(*fit, plugin_names_);
  parts_.observer->attempted({.pod = *placement.pod,
                              .outcome = status.rejected() ? AttemptReport::Outcome::kUnschedulable
                                                           : AttemptReport::Outcome::kError,
                              .attempt = placement.queued->attempts,
                              .took = now() - placement.start,
                              .stages = placement.took,
                              .nodes = cluster_.size(),
                              .fit = placement.fit,
                              .refused = refused,
                              .message = message});
}

void Scheduler::handle_failure(Placement& placement, const Status& status, const Diagnosis* fit,
                               std::string message, const Nomination& nominate) {
  if (parts_.observer != nullptr) report_failure(placement, status, fit, message);
  const bool unschedulable = status.rejected();
  ProfileState& profile = *placement.profile;
  profile.metrics.attempt(unschedulable ? AttemptResult::kUnschedulable : AttemptResult::kError,
                          now() - placement.start);
  if (unschedulable)
    parts_.log.debug("pod does not fit anywhere",
                     {{"pod", placement.pod->text()}, {"why", message}});
  else
    parts_.log.warn("pod could not be scheduled, will be tried again",
                    {{"pod", placement.pod->text()}, {"error", message}});

  const Rejectors rejectors =
      fit != nullptr ? Rejectors{fit->unschedulable, fit->pending} : Rejectors{};
  const PodPtr known = pending_pod(placement.pod->ns, placement.pod->name);
  PodPtr pod = placement.pod;
  if (known && known->uid != pod->uid) {  // another pod of that name
    queue_->done(pod->uid);
    return;
  }
  if (known) {
    pod = known;
    placement.queued->pod = known;
    if (Result<Ok> back =
            queue_->add_unschedulable_if_not_present(std::move(placement.queued), rejectors);
        !back)
      parts_.log.error("pod could not be put back",
                       {{"pod", pod->text()}, {"error", back.error()}});
  } else {
    queue_->done(pod->uid);                         // deleted, or bound after all
    if (cluster_.pod(pod->uid) != nullptr) return;  // nobody should read that a bound pod failed
  }
  queue_->nominator().add(*pod, nominate);
  parts_.events.event(profile.profile.name(), *pod, true, "FailedScheduling", "Scheduling",
                      truncated(message), nullptr);
  const PodCondition condition{"False", unschedulable ? "Unschedulable" : "SchedulerError",
                               std::move(message)};
  patch_status(*pod, &condition, nominate);
}

void Scheduler::patch_status(const Pod& pod, const PodCondition* condition,
                             const Nomination& nominate, Fn<void()> then) {
  const bool renominate = nominate && *nominate != pod.nominated_node_name;
  const bool told =
      condition != nullptr && pod.scheduled && pod.scheduled->status == condition->status &&
      pod.scheduled->reason == condition->reason && pod.scheduled->message == condition->message;
  if (!renominate && (condition == nullptr || told)) {
    if (then) parts_.scope.post(std::move(then));
    return;
  }
  json::Writer out;
  out.object().member("metadata").object().member("uid").string(pod.uid).end();
  out.member("status").object();
  if (condition != nullptr && !told) {
    out.member("conditions").array().object();
    out.member("type").string("PodScheduled");
    out.member("status").string(condition->status);
    out.member("reason").string(condition->reason);
    out.member("message").string(condition->message);
    if (pod.generation > 0) out.member("observedGeneration").integer(pod.generation);
    out.member("lastProbeTime").null();
    if (!pod.scheduled || pod.scheduled->status != condition->status)
      out.member("lastTransitionTime")
          .string(kube::time_text(parts_.scope.executor().clock().wall()));
    out.end().end();
  }
  if (renominate) {
    out.member("nominatedNodeName");
    nominate->empty() ? out.null() : out.string(*nominate);
  }
  out.end().end();
  send_status({pod.ns, pod.name}, out.take(), std::move(then), 3, 10ms);
}

// k8s 1.36: four tries where the server was busy or was asked at the wrong moment.
void Scheduler::send_status(const kube::Key& pod, const std::string& patch, Fn<void()> then,
                            int tries_left, Duration wait) {
  parts_.api.patch(
      kube::kPod, pod, patch, kube::PatchType::kStrategic,
      parts_.scope.done<kube::Object>(
          30s,
          [this, pod, patch, then = std::move(then), tries_left,
           wait](Result<kube::Object> result) mutable {
            const Reason reason = result ? Reason::kUnknown : result.error().reason;
            const bool busy = reason == Reason::kInternalError || reason == Reason::kConflict ||
                              reason == Reason::kServiceUnavailable ||
                              reason == Reason::kUnreachable;
            if (!result && busy && tries_left > 0 && !parts_.scope.closing()) {
              const Duration jitter{static_cast<Duration::rep>(
                  parts_.random.below(static_cast<std::uint64_t>(wait.count()) / 10 + 1))};
              parts_.scope.after(wait + jitter, [this, pod, patch, then = std::move(then),
                                                 tries_left, wait]() mutable {
                send_status(pod, patch, std::move(then), tries_left - 1, wait * 5);
              });
              return;
            }
            if (!result && reason != Reason::kNotFound && reason != Reason::kCancelled)
              parts_.log.warn("status of pod could not be written",
                              {{"pod", pod.text()}, {"error", result.error()}});
            if (then) then();
          }),
      "status");
}

}  // namespace berth::scheduler
