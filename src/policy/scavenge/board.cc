// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/board.h"

#include <algorithm>
#include <limits>

#include "json/cursor.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/ours/scavenger_policy_view.h"
#include "kube/time.h"

namespace berth::scavenge {
namespace {

constexpr std::int64_t kLongestWindow = 366 * 86'400;
constexpr int kMostSteps = 1000;
constexpr std::int64_t kMostMembers = 1'000'000;

// When the attempt that is under way began: the last of the starts.
WallTime started_of(json::Slice status) {
  WallTime last;
  for (const json::Slice each : status["runningTimestamps"].elements())
    if (const auto time = kube::parse_time(each.text())) last = *time;
  return last;
}

void read_request(const kube::Object& object, BoardJob& job) {
  const std::string text = object.annotation(kube::kReclaimAnnotation);
  if (text.empty() || !json::check(text)) return;
  const json::Slice request(text);
  job.deadline = kube::parse_time(request["deadline"].text());
  if (job.deadline) job.asked_for = request["uid"].text();
}

}  // namespace

std::optional<CostBasis> read_cost_basis(json::Slice cost) {
  const auto since = kube::parse_time(cost["since"].text());
  const std::int64_t rate = cost["rateMilli"].integer().value_or(0);
  const std::int64_t window = cost["windowSeconds"].integer().value_or(0);
  if (!since || rate < 0 || window <= 0) return std::nullopt;
  CostBasis basis;
  basis.since = *since;
  basis.rate_milli = rate;
  basis.window = std::chrono::seconds(std::min(window, kLongestWindow));
  basis.steps = static_cast<int>(
      std::clamp<std::int64_t>(cost["steps"].integer().value_or(1), 1, kMostSteps));
  basis.reported = cost["reported"].boolean();
  basis.restart = std::max<std::int64_t>(cost["restart"].integer().value_or(0), 0);
  basis.interval = std::chrono::seconds(
      std::clamp<std::int64_t>(cost["intervalSeconds"].integer().value_or(0), 0, kLongestWindow));
  return basis;
}

void Board::put(const kube::Object& object) {
  const kube::Kind& kind = kube::kind_of(object.kind());
  if (kind.kind == "ScavengerPolicy") {
    if (object.name() != kube::kScavengerPolicyName) return;
    const kube::ScavengerPolicy policy = kube::read_scavenger_policy(&object);
    return take_rules({.honour_budgets = policy.honour_pdbs,
                       .most_notice = policy.max_notice,
                       .most_min_run = policy.min_run_max,
                       .reclaim = policy.reclaim});
  }
  if (kind.kind != "ScavengerJob") return;
  forget(object.uid());
  const kube::ScavengerJobView view(object);
  if (view.job_uid().empty() || view.ended()) return;
  BoardJob job{
      .kind = object.kind(),
      .key = object.key(),
      .uid = std::string(object.uid()),
      .job_uid = view.job_uid(),
      .launcher_uid = view.status()["launcherUid"].text(),
      .basis = read_cost_basis(view.status()["cost"]),
      .started = started_of(view.status()),
      .min_run = std::min(view.min_run().value_or(Duration{}), rules_.most_min_run),
      .asked_min_run = view.min_run().value_or(Duration{}),
      .max_notice = std::max(view.checkpoint().max_notice, Duration{}),
      .members = static_cast<int>(std::clamp<std::int64_t>(
          view.status()["holds"]["members"].integer().value_or(view.replicas()), 1, kMostMembers))};
  read_request(object, job);
  job.smallest = kube::parse_resource_list(view.spec()["elastic"]["min"], "spec.elastic.min")
                     .value_or(kube::ResourceList());
  attempts_[job.uid] = job.job_uid;
  if (!job.launcher_uid.empty()) launchers_[job.launcher_uid] = job.job_uid;
  std::string controller = job.job_uid;
  jobs_.insert_or_assign(std::move(controller), std::move(job));
}

void Board::remove(const kube::Object& last) {
  const kube::Kind& kind = kube::kind_of(last.kind());
  if (kind.kind == "ScavengerPolicy" && last.name() == kube::kScavengerPolicyName) take_rules({});
  if (kind.kind == "ScavengerJob") forget(last.uid());
}

void Board::take_rules(const DoorRules& rules) {
  rules_ = rules;
  for (auto& [uid, job] : jobs_) job.min_run = std::min(job.asked_min_run, rules.most_min_run);
}

void Board::forget(std::string_view uid) {
  const auto attempt = attempts_.find(uid);
  if (attempt == attempts_.end()) return;
  // Its controller may be another job's by now, if somebody wrote nonsense into a status.
  const auto job = jobs_.find(attempt->second);
  if (job != jobs_.end() && job->second.uid == uid) {
    if (!job->second.launcher_uid.empty()) launchers_.erase(job->second.launcher_uid);
    jobs_.erase(job);
  }
  attempts_.erase(attempt);
}

}  // namespace berth::scavenge
