// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/verdict.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace berth::scavenge {
namespace {

constexpr int kDisruptionRule = 0, kCheckpointRule = 1;

std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return std::nullopt;
  return number;
}
// What stands between two words; nothing where one of them is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view from,
                                        std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == text.npos) return std::nullopt;
  text.remove_prefix(begin + from.size());
  const std::size_t end = text.find(to);
  if (end == text.npos) return std::nullopt;
  return text.substr(0, end);
}

bool terminal(const PodEvidence& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }
bool ended(const PodEvidence& pod) { return terminal(pod) || pod.container_end.has_value(); }
bool succeeded(const PodEvidence& pod) {
  return pod.exit_code == 0 && (pod.phase == "Succeeded" || !terminal(pod));
}
bool checkpointed(const PodEvidence& pod) { return pod.exit_code == kCheckpointExit; }
bool disrupted(const PodEvidence& pod) {
  return pod.disruption_target && (pod.deletion_at || terminal(pod) || pod.node_gone);
}
bool lost(const PodEvidence& pod) { return pod.node_gone && !ended(pod); }
// A node that takes no pod in leaves no exit code: the program never ran.
bool refused_by_node(const PodEvidence& pod) {
  return pod.phase == "Failed" && !pod.exit_code && !pod.container_end && !pod.oom_killed;
}
bool interrupted(const PodEvidence& pod) {
  return disrupted(pod) || deleted_while_running(pod) || lost(pod);
}
bool proves_completion(const PodEvidence& pod, bool exit_code_is_proof) {
  if (!succeeded(pod)) return false;
  if (exit_code_is_proof) return true;
  std::string_view message = pod.termination_message;
  while (!message.empty() && (message.back() == '\n' || message.back() == ' '))
    message.remove_suffix(1);
  return message == "done";
}

WallTime first_sign(const PodEvidence& pod) {
  WallTime first{std::numeric_limits<std::int64_t>::max()};
  if (pod.container_end) first = *pod.container_end;
  if (pod.deletion_at)
    first = std::min(first, *pod.deletion_at - std::chrono::seconds(pod.grace_seconds));
  return first;
}
// The pod that a Job failed for. Where the Job does not say, the one that ended first: the others
// were removed after it.
const PodEvidence* cause_of(const AttemptEvidence& evidence) {
  const PodEvidence* first = nullptr;
  for (const PodEvidence& pod : evidence.pods) {
    if (!evidence.job.cause_pod.empty()) {
      if (pod.name == evidence.job.cause_pod) return &pod;
    } else if (!succeeded(pod) && (ended(pod) || interrupted(pod)) &&
               (first == nullptr || first_sign(pod) < first_sign(*first))) {
      first = &pod;
    }
  }
  return first;
}

std::string exit_text(const PodEvidence& pod) {
  return pod.exit_code ? fmt::format(" with exit code {}", *pod.exit_code) : std::string();
}
std::string_view reason_of_disruption(const PodEvidence& pod) {
  const std::string_view reason = pod.disruption_reason;
  if (reason == "PreemptionByScheduler") return "Preempted";
  if (reason == "DeletionByPodGC") return "NodeLost";
  if (reason == "DeletionByTaintManager" && pod.node_gone) return "NodeLost";
  return "Evicted";  // EvictionByEvictionAPI, taints, TerminationByKubelet, and what comes later
}

Judgement about(const PodEvidence& pod, Verdict verdict, std::string_view reason,
                std::string message) {
  return {.verdict = verdict,
          .reason = std::string(reason),
          .message = std::move(message),
          .pod = pod.name,
          .exit_code = pod.exit_code};
}
Judgement interruption(const PodEvidence& pod) {
  if (checkpointed(pod)) {
    Judgement judged = about(pod, Verdict::kInterrupted, "CheckpointExit",
                             fmt::format("pod {} left a checkpoint and ended with exit code {}",
                                         pod.name, *pod.exit_code));
    judged.checkpoint = pod.container_end;
    return judged;
  }
  if (disrupted(pod))
    return about(
        pod, Verdict::kInterrupted, reason_of_disruption(pod),
        fmt::format("pod {} was disrupted: {}", pod.name,
                    pod.disruption_reason.empty() ? "no reason was given" : pod.disruption_reason));
  if (deleted_while_running(pod))
    return about(pod, Verdict::kInterrupted, pod.node_gone ? "NodeLost" : "Deleted",
                 fmt::format("pod {} was deleted while it ran{}", pod.name, exit_text(pod)));
  if (lost(pod))
    return about(pod, Verdict::kInterrupted, "NodeLost",
                 fmt::format("the node of pod {} is gone", pod.name));
  return about(pod, Verdict::kInterrupted, "Evicted",
               fmt::format("the node did not take pod {} in", pod.name));
}
Judgement failure(const PodEvidence& pod) {
  if (pod.oom_killed)
    return about(pod, Verdict::kFailed, "OOMKilled",
                 fmt::format("pod {} was killed because its memory was used up{}", pod.name,
                             exit_text(pod)));
  return about(pod, Verdict::kFailed, "AppFailed",
               fmt::format("pod {} failed{}", pod.name, exit_text(pod)));
}
Judgement judge_cause(const PodEvidence& pod) {
  const bool not_its_fault = checkpointed(pod) || interrupted(pod) || refused_by_node(pod);
  return not_its_fault ? interruption(pod) : failure(pod);
}

// The Job alone is left.
Judgement judge_job(const JobEvidence& job) {
  Judgement judged{.message = job.message, .pod = job.cause_pod, .exit_code = job.exit_code};
  const bool checkpoint = job.rule == kCheckpointRule || job.exit_code == kCheckpointExit;
  if (checkpoint || job.rule == kDisruptionRule) {
    judged.verdict = Verdict::kInterrupted;
    judged.reason = checkpoint ? "CheckpointExit" : "Evicted";
  } else {
    judged.verdict = Verdict::kFailed;
    judged.reason = "AppFailed";
  }
  return judged;
}

Judgement ours(const AttemptEvidence& evidence) {
  Judgement judged;
  judged.verdict = evidence.hung ? Verdict::kHung : Verdict::kInterrupted;
  judged.reason = evidence.hung ? "Hung" : "ReclaimRequested";
  judged.message = evidence.hung ? "its pods could not be placed" : "its room was asked for";
  for (const PodEvidence& pod : evidence.pods) {
    if (!checkpointed(pod) || !pod.container_end) continue;
    judged.pod = pod.name;
    judged.exit_code = pod.exit_code;
    judged.checkpoint =
        std::max(judged.checkpoint.value_or(*pod.container_end), *pod.container_end);
  }
  return judged;
}

// The Job has not failed: did anything happen to its pods? The first that it happened to is named.
std::optional<Judgement> judge_survivor(const AttemptEvidence& evidence) {
  const PodEvidence* first = nullptr;
  for (const PodEvidence& pod : evidence.pods) {
    if (!interrupted(pod) || proves_completion(pod, evidence.exit_code_is_proof)) continue;
    // Members that a complete Job had no need of are removed; only a success may be a pretence.
    if (evidence.job.complete && !succeeded(pod)) continue;
    if (first == nullptr || first_sign(pod) < first_sign(*first)) first = &pod;
  }
  if (first == nullptr) return std::nullopt;
  const bool ending = !ended(*first) && first->deletion_at && !first->node_gone;
  const bool last =
      std::all_of(evidence.pods.begin(), evidence.pods.end(),
                  [&](const PodEvidence& other) { return &other == first || succeeded(other); });
  if (ending && last && evidence.now && *evidence.now < *first->deletion_at)
    return Judgement{.look_again = first->deletion_at};
  return interruption(*first);
}

Judgement without_job(const AttemptEvidence& evidence) {
  if (const PodEvidence* cause = cause_of(evidence)) return judge_cause(*cause);
  const bool all_succeeded = !evidence.pods.empty() &&
                             static_cast<int>(evidence.pods.size()) >= evidence.members &&
                             std::all_of(evidence.pods.begin(), evidence.pods.end(), succeeded);
  if (all_succeeded) return {.verdict = Verdict::kCompleted, .reason = "Completed"};
  return {
      .verdict = Verdict::kInterrupted,
      .reason = "Deleted",
      .message = evidence.pods.empty() ? "its Job and its pods vanished" : "its Job was deleted"};
}

}  // namespace

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "None";
    case Verdict::kCompleted:
      return "Completed";
    case Verdict::kFailed:
      return "Failed";
    case Verdict::kInterrupted:
      return "Interrupted";
    case Verdict::kHung:
      return "Hung";
  }
  return "";
}

bool deleted_while_running(const PodEvidence& pod) {
  if (!pod.deletion_at) return false;
  const WallTime asked = *pod.deletion_at - std::chrono::seconds(pod.grace_seconds);
  if (!pod.container_end) return !terminal(pod) || !pod.exit_code;
  if (asked <= *pod.container_end) return true;
  // k8s 1.36: a grace period that is cut short moves the deletion to that moment, and a kubelet
  // cuts it to nothing once the containers have ended. When it was asked for is lost then.
  return pod.grace_seconds == 0 && !pod.ended_unasked && !pod.oom_killed;
}

void read_failure_message(JobEvidence& job, std::string_view message) {
  job.message = std::string(message);
  constexpr std::string_view kRule = " rule at index ";
  if (const std::size_t at = message.rfind(kRule); at != message.npos)
    job.rule = leading_number(message.substr(at + kRule.size())).value_or(-1);
  std::optional<std::string_view> pod = between(message, " for pod ", " failed with exit code ");
  if (pod)
    job.exit_code =
        leading_number(message.substr(message.find(" failed with exit code ") +
                                      std::string_view(" failed with exit code ").size()));
  else if (message.starts_with("Pod "))
    pod = between(message, "Pod ", " has condition ");
  if (!pod) return;
  const std::size_t slash = pod->find('/');
  job.cause_pod = std::string(slash == pod->npos ? *pod : pod->substr(slash + 1));
}

Judgement judge(const AttemptEvidence& evidence) {
  if (evidence.ended_by_us || evidence.hung) return ours(evidence);
  const JobEvidence& job = evidence.job;
  if (job.failing) {
    // k8s 1.36: its pods are deleted then, and nobody else is to blame.
    const bool too_long = job.message == "Job was active longer than specified deadline";
    const PodEvidence* cause = too_long ? nullptr : cause_of(evidence);
    return cause != nullptr ? judge_cause(*cause) : judge_job(job);
  }
  if (const auto judged = judge_survivor(evidence)) return *judged;
  if (job.complete) return {.verdict = Verdict::kCompleted, .reason = "Completed"};
  if (!job.exists) return without_job(evidence);
  return {};
}

}  // namespace berth::scavenge
