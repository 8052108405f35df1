// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/evidence.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/scavenger/mpi_builder.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using json::Slice;
using kube::Object;

bool holds(const Object& object, std::string_view type) {
  return kube::find_condition(object.status(), type)["status"].equals("True");
}

scavenge::PodEvidence of_pod(const Object& pod, const AttemptSight& sight) {
  const kube::PodView view(pod);
  scavenge::PodEvidence out{
      .name = std::string(pod.name()), .uid = std::string(pod.uid()), .phase = view.phase()};
  bool all_ended = true;
  for (const Slice one : pod.status()["containerStatuses"].elements()) {
    const Slice ended = one["state"]["terminated"];
    if (!ended.is_object()) {
      all_ended = false;
      continue;
    }
    const int code = static_cast<int>(ended["exitCode"].integer().value_or(0));
    if (!out.exit_code || *out.exit_code == 0) {
      out.exit_code = code;
      if (std::string message = ended["message"].text(); !message.empty())
        out.termination_message = std::move(message);
    }
    out.oom_killed |= ended["reason"].equals("OOMKilled");
    if (const auto end = kube::parse_time(ended["finishedAt"].text()))
      out.container_end = std::max(out.container_end.value_or(*end), *end);
  }
  // One that goes on says nothing about the others' end.
  if (!all_ended && !view.finished()) out.exit_code.reset();
  const Slice disrupted = view.condition("DisruptionTarget");
  out.disruption_target = disrupted["status"].equals("True");
  if (out.disruption_target) out.disruption_reason = disrupted["reason"].text();
  out.deletion_at = pod.deleted();
  out.grace_seconds = pod.metadata()["deletionGracePeriodSeconds"].integer().value_or(0);
  // A deletion makes a new generation of the pod.
  const auto known = pod.status()["observedGeneration"].integer();
  out.ended_unasked = view.finished() && known && *known < pod.generation();
  out.node_gone = sight.lost_nodes.count(view.node_name()) > 0;
  return out;
}

scavenge::JobEvidence of_job(const Object& job) {
  scavenge::JobEvidence out;
  out.exists = true;
  const bool mpi = job.kind() == mpi_job_kind();
  out.complete =
      mpi ? holds(job, "Succeeded") : holds(job, "Complete") || holds(job, "SuccessCriteriaMet");
  for (const char* type : {"FailureTarget", "Failed"}) {
    if (!holds(job, type)) continue;
    out.failing = true;
    const std::string message = kube::find_condition(job.status(), type)["message"].text();
    out.message = message;
    scavenge::read_failure_message(out, message);
    break;
  }
  return out;
}

std::optional<WallTime> container_start(const Object& pod) {
  std::optional<WallTime> last;
  for (const Slice one : pod.status()["containerStatuses"].elements())
    for (const char* state : {"running", "terminated"})
      if (const auto at = kube::parse_time(one["state"][state]["startedAt"].text()))
        last = std::max(last.value_or(*at), *at);
  return last;
}

}  // namespace

bool pod_of_attempt(const Object& pod, std::string_view job_uid, std::string_view job_name) {
  const auto owner = pod.controller();
  if (!owner) return false;
  if (owner->uid == job_uid) return true;
  return owner->kind == "Job" && owner->name == fmt::format("{}-launcher", job_name);
}

scavenge::AttemptEvidence evidence_of(const kube::ScavengerJobView& job,
                                      const AttemptSight& sight) {
  scavenge::AttemptEvidence out;
  out.exit_code_is_proof = job.exit_code_is_proof();
  out.members = sight.members;
  out.now = sight.now;
  if (sight.job != nullptr) out.job = of_job(*sight.job);
  for (const Object* pod : sight.pods) out.pods.push_back(of_pod(*pod, sight));
  return out;
}

Begun begun(const AttemptSight& sight) {
  Begun out;
  for (const Object* pod : sight.pods) {
    const Slice phase = pod->status()["phase"];
    const auto start = container_start(*pod);
    if (!phase.equals("Running") && !phase.equals("Succeeded") &&
        !(phase.equals("Failed") && start))
      continue;
    ++out.members;
    if (start) out.last = std::max(out.last.value_or(*start), *start);
  }
  return out;
}

std::optional<WallTime> end_of(const scavenge::AttemptEvidence& evidence, std::string_view pod) {
  for (const scavenge::PodEvidence& one : evidence.pods) {
    if (one.name != pod) continue;
    if (one.container_end) return one.container_end;
    if (one.deletion_at) return *one.deletion_at - std::chrono::seconds(one.grace_seconds);
  }
  return std::nullopt;
}
std::optional<int> exit_of(const scavenge::AttemptEvidence& evidence, std::string_view pod) {
  for (const scavenge::PodEvidence& one : evidence.pods)
    if (one.name == pod) return one.exit_code;
  return std::nullopt;
}

}  // namespace berth::controllers
