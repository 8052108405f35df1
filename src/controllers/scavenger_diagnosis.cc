// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger_diagnosis.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/scavenger/checkpoints.h"
#include "controllers/scavenger/queue_facts.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/pod_view.h"
#include "policy/scavenge/cost.h"
#include "policy/scavenge/verdict.h"
#include "runtime/spec.h"

namespace berth::controllers {
namespace {

using kube::ScavengerJobView;

constexpr Duration kSoon = 30s;  // an operator that runs has looked by then
constexpr std::string_view kKind = "ScavengerJob";
constexpr std::string_view kNobodyLooks =
    "Run the controllers (berth controllers, or berth up), or look at the log of those that run.";
constexpr std::size_t kMostTold = 5;

std::string span_text(Duration span) {
  const auto seconds = std::max<std::int64_t>(0, span / 1s);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86'400);
}
std::string times(std::int64_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{} times", count);
}
std::optional<WallTime> time_of(json::Slice text) { return kube::parse_time(text.text()); }
std::optional<WallTime> last_of(json::Slice list) {
  std::optional<WallTime> last;
  for (const json::Slice one : list.elements()) last = time_of(one);
  return last;
}
std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

// What is said, and by which reason the remedy is found.
struct Finding {
  bool well = false;
  std::string cause;
  std::string remedy = {};
};

std::string_view reason_of(scavenge::WaitReason why) {
  namespace reason = kube::reason;
  constexpr std::string_view kReasons[] = {reason::kTurn,       reason::kThreshold,
                                           reason::kNoFit,      reason::kOverQuota,
                                           reason::kBackingOff, reason::kReserved};
  return kReasons[static_cast<std::size_t>(why)];
}
std::string_view wait_text(scavenge::WaitReason why) {
  constexpr std::string_view kTexts[] = {
      "others come before it",
      "less of the cluster would stay free than the threshold asks for",
      "no set of nodes has the room for it",
      "its namespace has used up its quota",
      "it pauses before the next try",
      "the room it would fit in is kept for a job that has waited longer"};
  return kTexts[static_cast<std::size_t>(why)];
}

Finding waits(const ScavengerJobView& job, const ScavengerContext& context, WallTime now) {
  const json::Slice status = job.status();
  const auto since = time_of(status["waitingSince"]);
  if (!since && job.attempt() == 0) {
    if (now - job.object().created().value_or(now) > kSoon)
      return {false, "Nobody has looked at it since it was created.", std::string(kNobodyLooks)};
    return {true, "It was created a moment ago; what it mounts is being looked for."};
  }
  if (!since)
    return {false,
            "Its last attempt is over, but pods of it are not gone yet: two attempts never run at "
            "once.",
            std::string(kube::remedy_for(kKind, kube::reason::kNodeLost))};
  if (context.wait == nullptr)
    return {true, fmt::format("It has waited for {} and starts now: there is room for it.",
                              span_text(now - *since))};
  const scavenge::Wait& wait = *context.wait;
  std::string cause =
      fmt::format("It has waited for {} and is number {} of {}: {}", span_text(now - *since),
                  wait.turn, std::max<std::size_t>(context.queue, 1), wait_text(wait.reason));
  if (!wait.message.empty()) cause += fmt::format(" ({})", wait.message);
  return {false, sentence(std::move(cause)),
          std::string(kube::remedy_for(kKind, reason_of(wait.reason)))};
}

std::string cost_text(const ScavengerJobView& job, WallTime now) {
  const auto basis = read_cost(job.status()["cost"]);
  if (!basis) return "interrupted now it would lose nothing";
  const std::int64_t cost = scavenge::cost_at(*basis, now);
  std::string text = fmt::format("interrupted now it would lose {}", work_amount(cost));
  if (basis->reported)
    return text + fmt::format(", what it did since its last checkpoint {} ago",
                              span_text(now - basis->since));
  if (basis->interval > Duration{} &&
      basis->interval / 2 <= basis->window / std::max(1, basis->steps))
    return text + fmt::format(
                      ": it reports no checkpoints, so half of the {} between them counts at most, "
                      "and it starts over every {}",
                      span_text(basis->interval), span_text(basis->window));
  return text + fmt::format(
                    ": it reports no checkpoints, so its cost is counted in {} steps of {} "
                    "and starts over every {}",
                    basis->steps, span_text(basis->window / std::max(1, basis->steps)),
                    span_text(basis->window));
}

Finding runs(const ScavengerJobView& job, const ScavengerContext& context, WallTime now) {
  const json::Slice status = job.status();
  const auto since = last_of(status["runningTimestamps"]);
  const std::string where =
      context.nodes.empty()
          ? std::string()
          : fmt::format(" on {}", context.nodes.size() <= 3
                                      ? fmt::format("{}", fmt::join(context.nodes, ", "))
                                      : fmt::format("{} nodes", context.nodes.size()));
  Finding found{true, fmt::format("It has run for {}{}; {}.", span_text(now - since.value_or(now)),
                                  where, cost_text(job, now))};
  if (const json::Slice reclaim = status["reclaim"]; reclaim.is_object()) {
    const auto deadline = time_of(reclaim["deadline"]);
    const std::string pod = reclaim["for"].text();
    const std::string why =
        pod.empty() ? fmt::format("The cluster is too full ({})",
                                  kube::find_condition(status, "Running")["message"].text())
                    : fmt::format("Pod {} needs its room", pod);
    found.cause = fmt::format("{}: it is asked for a checkpoint and ends{}; {}.", why,
                              deadline ? fmt::format(" in {}", span_text(*deadline - now)) : "",
                              cost_text(job, now));
    found.remedy = kube::remedy_for(kKind, kube::reason::kReclaimRequested);
  }
  return found;
}

Finding starts(const ScavengerJobView& job) {
  const std::string message = job.status()["message"].text();
  return {message.empty(),
          sentence(fmt::format("Attempt {} was opened; not all of its members run yet{}{}",
                               job.attempt(), message.empty() ? "" : ": ", message)),
          message.empty() ? "" : std::string(kube::remedy_for(kKind, kube::reason::kHung))};
}

Finding ended(const ScavengerJobView& job) {
  const json::Slice status = job.status(), verdict = status["verdict"];
  if (job.phase() == kube::kScavengerCompleted)
    return {true,
            fmt::format("It has completed in {} run{}.", status["started"].integer().value_or(1),
                        status["started"].integer().value_or(1) == 1 ? "" : "s")};
  std::string message = status["message"].text();
  if (message.empty()) message = verdict["message"].text();
  std::string reason = verdict["reason"].text();
  if (reason.empty()) reason = kube::find_condition(status, "Complete")["reason"].text();
  return {false,
          sentence(fmt::format("It has failed and is not started again{}{}",
                               message.empty() ? "" : ": ", message)),
          std::string(kube::remedy_for(kKind, reason))};
}

// What it has been through, before what it does now.
std::vector<std::string> past(const ScavengerJobView& job, const ScavengerContext& context,
                              WallTime now) {
  std::vector<std::string> all;
  const json::Slice status = job.status(), verdict = status["verdict"];
  if (const std::int64_t count = job.interrupted_count(); count > 0) {
    std::string text = fmt::format("It was interrupted {}", times(count));
    if (const auto last = last_of(status["interruptedTimestamps"]))
      text += fmt::format(", last {} ago", span_text(now - *last));
    if (verdict["verdict"].equals(scavenge::text_of(scavenge::Verdict::kInterrupted)))
      text += fmt::format(" ({}{}{})", verdict["reason"].text(),
                          verdict["message"].text().empty() ? "" : ": ", verdict["message"].text());
    all.push_back(sentence(std::move(text)));
  }
  for (std::size_t i = 0; i < std::min(kMostTold, context.told.size()); ++i)
    all.push_back(sentence(context.told[i]));
  const std::int64_t lost = status["lostCoreSeconds"].integer().value_or(0),
                     useful = status["usefulCoreSeconds"].integer().value_or(0);
  if (lost + useful > 0)
    all.push_back(fmt::format("So far {} of work were kept and {} lost.",
                              work_amount(useful * 1000), work_amount(lost * 1000)));
  const json::Slice checkpoint = status["checkpoint"];
  if (const std::string advised = checkpoint["advisedInterval"].text(); !advised.empty())
    all.push_back(fmt::format("A checkpoint every {} would lose the least time.", advised));
  return all;
}

}  // namespace

std::string work_amount(std::int64_t milli) {
  const double seconds = static_cast<double>(milli) / 1000;
  if (seconds >= 360) return fmt::format("{:.2f} core-hours", seconds / 3600);
  if (seconds >= 60) return fmt::format("{:.1f} core-minutes", seconds / 60);
  return fmt::format("{:.0f} core-seconds", seconds);
}

Diagnosis diagnose_scavenger(const kube::Object& object, const ScavengerContext& context,
                             WallTime now) {
  const ScavengerJobView job(object);
  const Finding found = job.ended()                              ? ended(job)
                        : !job.open()                            ? waits(job, context, now)
                        : job.phase() == kube::kScavengerRunning ? runs(job, context, now)
                                                                 : starts(job);
  return {.subject = "ScavengerJob " + object.key().text(),
          .state = job.phase(),
          .well = found.well,
          .cause = found.cause,
          .remedy = found.remedy,
          .because = past(job, context, now)};
}

std::vector<kube::KindId> kinds_of_scavengers() {
  const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
  return {kinds.job, kube::cerit_kinds().job, kinds.policy, kinds.quota, kube::kNode, kube::kPod};
}

Result<Diagnosis> diagnose_scavenger(const runtime::View& view, const kube::Key& key,
                                     std::vector<std::string> told, WallTime now) {
  const std::vector<kube::KindId> kinds = {kube::scavenger_kinds().job, kube::cerit_kinds().job};
  const kube::Object* job = nullptr;
  for (const kube::KindId kind : kinds)
    if (job == nullptr) job = view.get(kind, key);
  if (job == nullptr)
    return fail(Reason::kNotFound,
                fmt::format("scavengerjobs.berth.dev \"{}\" not found", key.name));
  QueueFacts facts;
  const scavenge::AdmitQuestion question = queue_question(facts, view, kinds, now).question;
  const scavenge::AdmitAnswer answer = scavenge::admit(question);
  ScavengerContext context{.queue = question.waiting.size(), .told = std::move(told)};
  for (const scavenge::Wait& wait : answer.waits)
    if (wait.uid == job->uid()) context.wait = &wait;
  const std::string job_uid = ScavengerJobView(*job).job_uid();
  std::set<std::string> nodes;
  for (const kube::Object* pod : view.list(kube::kPod, key.ns)) {
    const auto owner = runtime::controller_uid(*pod);
    const kube::PodView one(*pod);
    if (!job_uid.empty() && !owner.empty() && owner.front() == job_uid && one.assigned() &&
        !one.finished())
      nodes.insert(one.node_name());
  }
  context.nodes.assign(nodes.begin(), nodes.end());
  return diagnose_scavenger(*job, context, now);
}

}  // namespace berth::controllers
