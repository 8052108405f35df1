// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/attempt_end.h"

#include <algorithm>

#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/time.h"
#include "policy/scavenge/advice.h"
#include "policy/scavenge/cost.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;
using scavenge::CostBasis;
using scavenge::Verdict;
namespace reason = kube::reason;

constexpr std::size_t kMostTimes = 50;
constexpr Duration kFirstPause = 30s, kLongestPause = 10min;

std::int64_t core_seconds(std::int64_t rate_milli, Duration time) {
  if (time <= Duration{}) return 0;
  return static_cast<std::int64_t>(static_cast<double>(rate_milli) *
                                   std::chrono::duration<double>(time).count() / 1'000);
}

void add_time(StatusDraft& status, std::string_view list, WallTime at) {
  std::vector<std::string> all;
  for (const Slice one : status[list].elements()) all.push_back(one.text());
  all.push_back(kube::micro_time_text(at));
  if (all.size() > kMostTimes) all.erase(all.begin(), all.end() - kMostTimes);
  Writer w;
  w.array();
  for (const std::string& one : all) w.string(one);
  w.end();
  status.raw(list, w.take());
}

std::string verdict_json(const Closing& closing, const AttemptEnd& end) {
  const scavenge::Judgement& how = end.judgement;
  Writer w;
  w.object().member("attempt").integer(closing.job.attempt());
  w.member("verdict").string(scavenge::text_of(how.verdict));
  if (!how.reason.empty()) w.member("reason").string(how.reason);
  if (!how.message.empty()) w.member("message").string(how.message);
  if (!how.pod.empty()) w.member("pod").string(how.pod);
  if (end.exit_code) w.member("exitCode").integer(*end.exit_code);
  w.member("at").string(kube::micro_time_text(end.at)).end();
  return w.take();
}

// Half a minute, and twice as long as the last one where that was of no use.
WallTime next_try(const StatusDraft& before, bool useful, WallTime now) {
  const Slice last = before["verdict"];
  const auto until = kube::parse_time(before["notBefore"].text()),
             from = kube::parse_time(last["at"].text());
  Duration pause = kFirstPause;
  if (!useful && until && from && *until > *from)
    pause = std::clamp(2 * (*until - *from), kFirstPause, kLongestPause);
  return now + pause;
}

void account(const Closing& closing, const AttemptEnd& end, StatusDraft& status) {
  auto basis = read_cost(status["cost"]);
  const std::optional<WallTime> start = last_time(status["runningTimestamps"]);
  const bool ran = basis || end.began.members >= closing.members.pods();
  if (!ran || !start) return;
  if (!basis) basis = basis_of(closing.job, closing.policy, closing.members, *start, nullptr);
  std::optional<CheckpointReport> report = end.report;
  if (!report) report = latest_report(end.pods, basis->since, end.at);
  if (end.judgement.checkpoint && *end.judgement.checkpoint > basis->since)
    report = CheckpointReport{std::min(*end.judgement.checkpoint, end.at), {}};
  if (report) take_report(status, *basis, *report);
  const bool well = end.judgement.verdict == Verdict::kCompleted;
  const Duration lost = well              ? Duration{}
                        : basis->reported ? end.at - basis->since
                                          : scavenge::lost_time(*basis, end.at);
  const std::int64_t all = core_seconds(basis->rate_milli, end.at - *start),
                     gone = std::min(all, core_seconds(basis->rate_milli, lost));
  status.number("lostCoreSeconds", status["lostCoreSeconds"].integer().value_or(0) + gone);
  status.number("usefulCoreSeconds",
                status["usefulCoreSeconds"].integer().value_or(0) + all - gone);
}

// Not so long that a run would end before its first checkpoint, which admission would refuse, too.
void advise(StatusDraft& status, Duration window) {
  const Slice before = status["checkpoint"];
  const auto cost = before["costSeconds"].integer();
  const auto mean = scavenge::mean_between(interrupted_runs(Slice(status.json())));
  if (!cost || !mean) return;
  auto advised = scavenge::advised_interval(std::chrono::seconds(*cost), *mean);
  if (!advised) return;
  advised = std::max<Duration>(1s, std::min(*advised, window * 9 / 10));
  StatusDraft checkpoint(before);
  checkpoint.text("advisedInterval",
                  kube::duration_text(std::chrono::duration_cast<std::chrono::seconds>(*advised)));
  status.raw("checkpoint", checkpoint.json());
}

}  // namespace

std::optional<WallTime> last_time(Slice list) {
  std::optional<WallTime> last;
  for (const Slice one : list.elements())
    if (const auto at = kube::parse_time(one.text())) last = at;
  return last;
}

AttemptEnd::AttemptEnd(const kube::ScavengerJobView& job, const AttemptSight& sight, WallTime now)
    : at(now), began(begun(sight)), pods(sight.pods) {
  const scavenge::AttemptEvidence evidence = evidence_of(job, sight);
  judgement = scavenge::judge(evidence);
  at = std::min(now, end_of(evidence, judgement.pod).value_or(now));
  exit_code = exit_of(evidence, judgement.pod);
  if (!exit_code) exit_code = evidence.job.exit_code;
}

void add_running(StatusDraft& status, WallTime since) {
  add_time(status, "runningTimestamps", since);
  status.number("started", status["started"].integer().value_or(0) + 1);
}

CostBasis basis_of(const kube::ScavengerJobView& job, const kube::ScavengerPolicy& policy,
                   const Members& members, WallTime since, const kube::Object* made) {
  CostBasis basis;
  basis.since = since;
  basis.rate_milli = scavenge::rate_milli(members.all(), 1,
                                          {policy.core_milli, policy.gib_milli, policy.gpu_milli});
  basis.window = policy.window(job.duration());
  basis.steps = policy.steps;
  // In whole seconds, as the status has it.
  basis.interval = std::max<Duration>(Duration{}, std::chrono::duration_cast<std::chrono::seconds>(
                                                      job.checkpoint().interval.value_or(0s)));
  if (made != nullptr && made->created() && *made->created() < since) {
    const Duration start = std::min(since - *made->created(), basis.window / 4);
    basis.restart = basis.rate_milli * (start / 1s);
  }
  return basis;
}

void take_report(StatusDraft& status, CostBasis& basis, const CheckpointReport& report) {
  basis.since = std::max(basis.since, report.at);
  basis.reported = true;
  StatusDraft checkpoint(status["checkpoint"]);
  checkpoint.text("last", kube::micro_time_text(basis.since));
  checkpoint.number("count", checkpoint["count"].integer().value_or(0) + 1);
  if (report.took)
    checkpoint.number("costSeconds", std::max<std::int64_t>(1, (*report.took + 999ms) / 1s));
  status.raw("checkpoint", checkpoint.json());
}

void close_attempt(const Closing& closing, const AttemptEnd& given, StatusDraft& status,
                   Conditions& conditions, WallTime now) {
  AttemptEnd end = given;
  const kube::ScavengerJobView& job = closing.job;
  const std::int64_t generation = job.object().generation();
  const scavenge::Judgement& how = end.judgement;
  if (closing.never_ran && end.began.members >= closing.members.pods() &&
      how.verdict != Verdict::kHung)
    add_running(status, std::min(end.began.last.value_or(end.at), end.at));
  if (const auto start = last_time(status["runningTimestamps"]); start && end.at < *start)
    end.at = std::min(now, *start);
  const std::optional<WallTime> started = last_time(status["runningTimestamps"]);
  account(closing, end, status);

  const bool useful =
      started && !closing.never_ran && end.at - *started >= closing.policy.window(job.duration());
  const WallTime pause = next_try(status, useful, now);
  status.raw("verdict", verdict_json(closing, end));
  status.number("closedAttempt", job.attempt());
  for (const char* of_run : {"cost", "runningPriority", "nodes", "avoid", "holds"})
    status.raw(of_run, "");
  for (const char* of_run : {"priorityStartOverTimestamp", "waitingSince", "notBefore"})
    status.text(of_run, "");
  if (closing.acked) {
    StatusDraft reclaim(status["reclaim"]);
    reclaim.text("acked", kube::micro_time_text(now));
    status.raw("reclaim", reclaim.json());
  }
  status.text("message", how.message);
  status.number("observedGeneration", generation);
  const auto say = [&](std::string_view type, bool holds, std::string_view why) {
    conditions.set(type, holds, why, how.message, now, generation);
  };
  const std::string_view why = how.reason;
  switch (how.verdict) {
    case Verdict::kCompleted:
      status.text("phase", kube::kScavengerCompleted);
      status.text("finishedTimestamp", kube::micro_time_text(end.at));
      say("Running", false, reason::kCompleted);
      say("Complete", true, reason::kCompleted);
      return;
    case Verdict::kFailed:
      status.text("phase", kube::kScavengerFailed);
      status.text("finishedTimestamp", kube::micro_time_text(end.at));
      say("Running", false, why.empty() ? reason::kAppFailed : why);
      say("Complete", false, why.empty() ? reason::kAppFailed : why);
      return;
    case Verdict::kHung:
      status.text("phase", kube::kScavengerPending);
      break;
    default:
      status.text("phase", kube::kScavengerInterrupted);
      status.number("interruptedCount", job.interrupted_count() + closing.times);
      add_time(status, "interruptedTimestamps", end.at);
      advise(status, std::min(closing.policy.window(job.duration()),
                              job.duration().value_or(closing.policy.default_duration)));
  }
  status.text("notBefore", kube::micro_time_text(pause));
  say("Running", false, why.empty() ? reason::kDeleted : why);
  say("Admitted", false, reason::kBackingOff);
}

}  // namespace berth::controllers
