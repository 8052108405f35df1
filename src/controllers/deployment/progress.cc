// SPDX-License-Identifier: Apache-2.0
#include "controllers/deployment/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

constexpr const char* kProgressing = "Progressing";
constexpr const char* kAvailable = "NewReplicaSetAvailable";
constexpr const char* kTimedOut = "ProgressDeadlineExceeded";
constexpr const char* kPaused = "DeploymentPaused";
constexpr const char* kReplicaFailure = "ReplicaFailure";

std::optional<Duration> deadline_of(const Object& deployment) {
  const auto seconds = deployment.member("spec")["progressDeadlineSeconds"].integer();
  if (!seconds || *seconds == INT32_MAX) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

}  // namespace

Progress::Progress(const Object& deployment, const Rollout& rollout, WallTime now)
    : deployment_(deployment),
      rollout_(rollout),
      now_(now),
      deadline_(deadline_of(deployment)),
      draft_(deployment.status()),
      conditions_(deployment.status()["conditions"]) {
  const auto number = [&](const char* name) {
    return deployment.status()[name].integer().value_or(0);
  };
  before_ = {number("replicas"), number("updatedReplicas"), number("readyReplicas"),
             number("availableReplicas")};
}

void Progress::say(const char* type, const char* status, const char* reason, std::string message) {
  Condition condition{.type = type,
                      .status = status,
                      .reason = reason,
                      .message = std::move(message),
                      .last_transition = kube::time_text(now_),
                      .last_update = kube::time_text(now_)};
  if (const Condition* now = conditions_.find(type)) {
    if (now->status == status && now->reason == reason) return;
    if (now->status == status) condition.last_transition = now->last_transition;
  }
  conditions_.put(std::move(condition));
}

void Progress::paused_or_resumed(bool paused) {
  if (!deadline_) return;
  const Condition* now = progressing();
  if (now != nullptr && now->reason == kTimedOut) return;
  const bool said = now != nullptr && now->reason == kPaused;
  if (paused && !said) say(kProgressing, "Unknown", kPaused, "Deployment is paused");
  if (!paused && said) say(kProgressing, "Unknown", "DeploymentResumed", "Deployment is resumed");
}

void Progress::collided() {
  draft_.number("collisionCount", draft_["collisionCount"].integer().value_or(0) + 1);
}

bool Progress::complete() const {
  return done(before_) && deployment_.status()["observedGeneration"].integer().value_or(0) >=
                              deployment_.generation();
}

bool Progress::done(const Counts& counts) const {
  return counts.updated == rollout_.replicas && counts.replicas == rollout_.replicas &&
         counts.available == rollout_.replicas;
}

Progress::Counts Progress::count(const std::vector<Set>& all, const Set* fresh) {
  Counts counts;
  std::int64_t asked = 0;
  std::optional<std::int64_t> terminating = 0;
  for (const Set& set : all) {
    asked += set.size;
    counts.replicas += set.replicas;
    counts.ready += set.ready;
    counts.available += set.available;
    if (!set.terminating && set.synced)
      terminating.reset();  // k8s 1.36: one that does not tell makes the sum unknown
    else if (terminating)
      *terminating += set.terminating.value_or(0);
  }
  counts.updated = fresh != nullptr ? fresh->replicas : 0;
  draft_.count("observedGeneration", deployment_.generation());
  draft_.count("replicas", counts.replicas).count("updatedReplicas", counts.updated);
  draft_.count("readyReplicas", counts.ready).count("availableReplicas", counts.available);
  draft_.count("unavailableReplicas", std::max<std::int64_t>(0, asked - counts.available));
  if (terminating)
    draft_.number("terminatingReplicas", *terminating);
  else
    draft_.raw("terminatingReplicas", "");
  if (counts.available >= rollout_.replicas - rollout_.unavailable)
    say("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.");
  else
    say("Available", "False", "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.");
  return counts;
}

std::string Progress::counted(const std::vector<Set>& all, const Set* fresh) {
  count(all, fresh);
  return draft_.raw("conditions", conditions_.json()).json();
}

std::string Progress::subject(const Set* fresh) const {
  return fresh != nullptr ? fmt::format("ReplicaSet \"{}\"", fresh->name())
                          : fmt::format("Deployment \"{}\"", deployment_.name());
}

std::string Progress::rolled(const std::vector<Set>& all, const Set* fresh) {
  const Counts counts = count(all, fresh);
  if (!deadline_) conditions_.remove(kProgressing);
  const Condition* now = progressing();
  const bool over =
      counts.replicas == counts.updated && now != nullptr && now->reason == kAvailable;
  if (deadline_ && !over) judge(counts, fresh);
  take_failures(all, fresh);
  now = progressing();
  // One that was available before has no time to run out, one that ran out is told already.
  const bool waits = now != nullptr && now->reason != kTimedOut && now->reason != kAvailable;
  if (deadline_ && waits && !done(counts))
    if (const auto updated = kube::parse_time(now->last_update))
      due_ = *updated + *deadline_ + 1s;  // k8s 1.36: a second more, times are in whole ones
  return draft_.raw("conditions", conditions_.json()).json();
}

void Progress::judge(const Counts& counts, const Set* fresh) {
  if (done(counts))
    return say(kProgressing, "True", kAvailable, subject(fresh) + " has successfully progressed.");
  const bool moves = counts.updated > before_.updated ||
                     counts.replicas - counts.updated < before_.replicas - before_.updated ||
                     counts.ready > before_.ready || counts.available > before_.available;
  const Condition* now = progressing();
  if (moves) {
    // Said anew each time: its lastUpdateTime is when progress was last seen.
    const std::string since =
        now != nullptr && now->status == "True" ? now->last_transition : kube::time_text(now_);
    conditions_.put({.type = kProgressing,
                     .status = "True",
                     .reason = "ReplicaSetUpdated",
                     .message = subject(fresh) + " is progressing.",
                     .last_transition = since,
                     .last_update = kube::time_text(now_)});
    return;
  }
  if (now == nullptr || now->reason == kAvailable) return;
  const auto updated = kube::parse_time(now->last_update);
  if (now->reason == kTimedOut || (updated && *updated + *deadline_ < now_))
    say(kProgressing, "False", kTimedOut, subject(fresh) + " has timed out progressing.");
}

void Progress::take_failures(const std::vector<Set>& all, const Set* fresh) {
  std::vector<const Set*> order;
  if (fresh != nullptr) order.push_back(fresh);
  for (const Set& set : all) order.push_back(&set);
  for (const Set* set : order) {
    const json::Slice failure = kube::find_condition(set->object->status(), kReplicaFailure);
    if (!failure) continue;
    const std::string status = failure["status"].text(), reason = failure["reason"].text();
    const Condition* now = conditions_.find(kReplicaFailure);
    if (now != nullptr && now->status == status && now->reason == reason) return;
    conditions_.put({.type = kReplicaFailure,
                     .status = status,
                     .reason = reason,
                     .message = failure["message"].text(),
                     .last_transition = failure["lastTransitionTime"].text(),
                     .last_update = failure["lastTransitionTime"].text()});
    return;
  }
  conditions_.remove(kReplicaFailure);
}

}  // namespace berth::controllers
