// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger_metrics.h"

#include <algorithm>

#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/ours/scavenger_policy_view.h"

namespace berth::controllers {
namespace {

using kube::ScavengerJobView;

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

std::int64_t number(const ScavengerJobView& job, std::string_view field) {
  return job.status()[field].integer().value_or(0);
}
std::int64_t grew(const ScavengerJobView& before, const ScavengerJobView& after,
                  std::string_view field) {
  return std::max<std::int64_t>(0, number(after, field) - number(before, field));
}

std::optional<WallTime> last_start(const ScavengerJobView& job) {
  std::optional<WallTime> last;
  for (const json::Slice one : job.status()["runningTimestamps"].elements())
    last = kube::parse_time(one.text());
  return last;
}

// "0" … "4", "5+": an interrupted job comes first, and nobody needs to tell 50 from 51.
std::string queue_label(const ScavengerJobView& job) {
  if (job.object().deleting() || job.ended() || job.open()) return {};
  const std::int64_t times = job.interrupted_count();
  return times >= 5 ? "5+" : std::to_string(times);
}

double threshold_of(const kube::Object* policy) {
  const auto counted =
      policy != nullptr ? policy->status()["thresholdPercent"].integer() : std::nullopt;
  return static_cast<double>(
             counted.value_or(kube::read_scavenger_policy(policy).threshold_percent)) /
         100;
}

}  // namespace

ScavengerStep scavenger_step(const kube::Object& old, const kube::Object& now) {
  const ScavengerJobView before(old), after(now);
  ScavengerStep step;
  step.started = grew(before, after, "started");
  step.interrupted = grew(before, after, "interruptedCount");
  const auto becomes = [&](std::string_view phase) {
    return after.phase() == phase && before.phase() != phase ? 1 : 0;
  };
  step.completed = becomes(kube::kScavengerCompleted);
  step.failed = becomes(kube::kScavengerFailed);
  step.lost = static_cast<double>(grew(before, after, "lostCoreSeconds"));
  step.useful = static_cast<double>(grew(before, after, "usefulCoreSeconds"));
  if (after.closed_attempt() <= before.closed_attempt()) return step;
  const json::Slice verdict = after.status()["verdict"];
  step.verdict = verdict["verdict"].text();
  step.reason = verdict["reason"].text();
  const auto began = last_start(after), ended = kube::parse_time(verdict["at"].text());
  const bool ran = before.phase() == kube::kScavengerRunning || step.started > 0;
  if (ran && began && ended && *ended >= *began) step.ran = *ended - *began;
  return step;
}

ScavengerMetrics::ScavengerMetrics(Metrics& metrics)
    : started_(metrics.counter("sj_started_total", "Runs in which every member began")),
      completed_(metrics.counter("sj_completed_total", "Jobs that came to their end")),
      interrupted_(metrics.counter("sj_interrupted_total", "Interruptions, one a job and run")),
      failed_(metrics.counter("sj_failed_total", "Jobs that failed by their own fault")),
      lost_(metrics.counter("sj_lost_core_seconds_total", "Work lost with interruptions")),
      useful_(metrics.counter("sj_useful_core_seconds_total", "Work that was kept")),
      wait_(metrics.histogram("sj_wait_seconds", "From the queue to a run",
                              exponential_buckets(1, 2, 18))),
      run_(metrics.histogram("sj_run_seconds", "Length of runs, however they ended",
                             exponential_buckets(1, 2, 20))),
      reclaim_(metrics.histogram("sj_reclaim_latency_seconds",
                                 "From the moment a pod's room was wanted until it had left",
                                 exponential_buckets(0.1, 2, 14))),
      goodput_(metrics.gauge("sj_goodput_ratio", "Work that was kept, of all that was done")),
      threshold_(
          metrics.gauge("sj_threshold_ratio", "Share of the cluster up to which jobs start")),
      queue_(metrics.gauges("sj_queue_length", "Jobs that wait, by how often they were interrupted",
                            {"count"})),
      verdicts_(
          metrics.counters("sj_verdicts_total", "How attempts ended", {"verdict", "reason"})) {
  threshold_.set(threshold_of(nullptr));
  goodput_.set(1);
}

std::vector<kube::KindId> ScavengerMetrics::kinds() const {
  return {kube::scavenger_kinds().job, kube::cerit_kinds().job, kube::scavenger_kinds().policy,
          kube::kPod};
}

void ScavengerMetrics::begin() {
  known_.clear();
  reclaims_.clear();
  for (auto& [label, length] : queue_lengths_) queue_.with({label}).set(length = 0);
}

void ScavengerMetrics::changed(const runtime::Change& change, WallTime now) {
  const kube::Object& object = change.after != nullptr ? *change.after : *change.before;
  if (object.kind() == kube::kPod) {
    const auto facts = [](const kube::Object* pod) {
      return pod != nullptr ? std::optional(reclaim_facts(*pod)) : std::nullopt;
    };
    const auto before = facts(change.before), after = facts(change.after);
    if (const auto took =
            reclaims_.changed(before ? &*before : nullptr, after ? &*after : nullptr, now))
      reclaim_.observe(seconds(*took));
  } else if (object.kind() == kube::scavenger_kinds().policy) {
    if (object.name() == kube::kScavengerPolicyName) threshold_.set(threshold_of(change.after));
  } else {
    job(change);
  }
}

void ScavengerMetrics::queue(Known& known, std::string next) {
  if (known.queued == next) return;
  if (!known.queued.empty()) queue_.with({known.queued}).set(--queue_lengths_[known.queued]);
  if (!next.empty()) queue_.with({next}).set(++queue_lengths_[next]);
  known.queued = std::move(next);
}

void ScavengerMetrics::job(const runtime::Change& change) {
  const kube::Object& object = change.after != nullptr ? *change.after : *change.before;
  Known& known = known_[std::string(object.uid())];
  if (change.after == nullptr) {
    queue(known, "");
    known_.erase(std::string(object.uid()));
    return;
  }
  const ScavengerJobView job(object);
  queue(known, queue_label(job));
  // It leaves the queue when an attempt is opened, and its wait ends when that runs.
  const auto waits = kube::parse_time(job.status()["waitingSince"].text());
  const std::optional<WallTime> waited = known.waits_since;
  if (waits) known.waits_since = waits;
  if (change.before == nullptr) return;  // what it had done before is counted already
  const ScavengerStep step = scavenger_step(*change.before, object);
  if (step.started > 0) {
    started_.add(static_cast<double>(step.started));
    const auto began = last_start(job);
    if (waited && began && *began >= *waited) wait_.observe(seconds(*began - *waited));
    if (!waits) known.waits_since.reset();
  }
  interrupted_.add(static_cast<double>(step.interrupted));
  completed_.add(static_cast<double>(step.completed));
  failed_.add(static_cast<double>(step.failed));
  lost_.add(step.lost);
  useful_.add(step.useful);
  if (const double all = lost_.value() + useful_.value(); all > 0)
    goodput_.set(useful_.value() / all);
  if (step.ran) run_.observe(seconds(*step.ran));
  if (!step.verdict.empty()) verdicts_.with({step.verdict, step.reason}).add();
}

}  // namespace berth::controllers
