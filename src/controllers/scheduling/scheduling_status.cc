// SPDX-License-Identifier: Apache-2.0
#include "controllers/scheduling/scheduling_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using kube::BatchJobView;
using kube::SchedulingView;
using kube::time_text;

// The thesis' names for how far a job is.
std::string chip(const JobProgress& one) {
  if (one.object == nullptr) return one.last_run > 0 ? "Completed" : "Acquiring";
  const BatchJobView job(*one.object);
  const bool closed = one.last_run > 0 && job.closed_run() >= one.last_run;
  if (closed && one.left == 0)
    return job.succeeded(one.last_run).value_or(true) ? "Completed" : "Failed";
  if (!one.ours) return one.last_run > 0 && one.left == 0 ? "Completed" : "Acquiring";
  if (job.open() && job.run() == one.last_run) {
    const std::string state = job.state();
    if (state == "Scheduled") return state;
    return state == "Submitted" || state == "Retrying" ? "Submitted" : "Running";
  }
  return one.started() && !closed ? "Submitted" : "InQueue";
}

class Summary {
 public:
  Summary(const SchedulingView& view, const SchedulingProgress& progress,
          const SchedulingFindings& found, WallTime now)
      : view_(view),
        progress_(progress),
        found_(found),
        now_(now),
        status_(view.status()),
        conditions_(status_["conditions"]) {}

  SchedulingSummary summary() {
    jobs();
    std::string state(name_of(found_.state));
    if (found_.state == SchedulingState::kSubmitting && confirming_) state = "Confirmation";
    status_.text("state", state);
    status_.number("observedGeneration", view_.object().generation());
    times();
    conditions();
    status_.raw("conditions", conditions_.json());
    out_.status = status_.json();
    return std::move(out_);
  }

 private:
  void jobs() {
    json::Writer w;
    w.array();
    for (const JobProgress& one : progress_.jobs) {
      const std::string state = chip(one), before = view_.job(one.job).state;
      if (state != before && one.in_spec)
        out_.told.emplace_back(state, fmt::format("BatchJob {} is {}", one.job.text(), state));
      if (state == "Submitted") confirm(one);
      w.object().member("namespace").string(one.job.ns).member("name").string(one.job.name);
      w.member("state").string(state);
      if (one.last_run > 0)
        w.member("lastRun")
            .integer(one.last_run)
            .member("used")
            .integer(static_cast<std::int64_t>(one.used));
      const bool waits = found_.acquired && one.left > 0 && !one.started();
      if (waits) w.member("waitingSince").string(time_text(one.waiting_since.value_or(now_)));
      if (one.granted) w.member("grantedTime").string(time_text(*one.granted));
      w.end();
    }
    status_.raw("jobStates", progress_.jobs.empty() ? "" : w.end().take());
  }
  void confirm(const JobProgress& one) {
    confirming_ = true;
    const WallTime due = one.granted.value_or(now_) + view_.confirm_timeout();
    if (now_ >= due)
      stalled_ = one.job.text();
    else
      out_.look_again = out_.look_again ? std::min(*out_.look_again, due) : due;
  }

  void times() {
    if (!found_.acquired)
      status_.text("acquiredTime", "");
    else if (!status_["acquiredTime"].present())
      status_.text("acquiredTime", time_text(now_));
    if (found_.completed && !status_["completionTime"].present())
      status_.text("completionTime", time_text(now_));
  }

  void conditions() {
    using namespace kube::reason;  // NOLINT: a table of them
    if (found_.state == SchedulingState::kReleasing)
      return put("Progressing", false, kReleasing, "it is deleted and gives back what it holds");
    if (found_.acquired)
      put("Acquired", true, kAcquired, "");
    else
      put("Acquired", false, found_.claims.reason.empty() ? kAcquiring : found_.claims.reason,
          found_.claims.message);
    put("Complete", found_.completed, found_.completed ? kAllComplete : kRunning, "");
    progressing();
  }
  void progressing() {
    using namespace kube::reason;  // NOLINT: a table of them
    std::vector<std::string> problems;
    const auto problem = [&](std::string_view reason, std::string message) {
      problems.push_back(message);
      if (problems.size() == 1) put("Progressing", false, reason, std::move(message));
    };
    if (const auto twice = view_.named_twice())
      problem(kDuplicateJob, fmt::format("BatchJob {} is named twice", twice->text()));
    if (!found_.completed)
      for (const kube::Key& job : stopped_by(view_, progress_))
        problem(kJobFailed, fmt::format("BatchJob {} has failed", job.text()));
    if (!stalled_.empty())
      problem(kStalled, fmt::format("the executors of {} are not all scheduled", stalled_));
    const slots::Waiting* wait = nullptr;
    for (const slots::Waiting& each : found_.waiting) {
      if (each.reason == kWaitingForCapacity || each.reason == kQuotaExceeded ||
          each.reason == kJobHeld)
        wait = wait == nullptr ? &each : wait;
      else
        problem(each.reason, each.message);
    }
    json::Writer w;
    w.array();
    for (const std::string& each : problems) w.string(each);
    status_.raw("problems", problems.empty() ? "" : w.end().take());
    if (!problems.empty()) return;
    if (found_.completed) return put("Progressing", false, kAllComplete, "");
    const bool runs = progress_.runs_open();
    if (!runs && wait != nullptr) return put("Progressing", false, wait->reason, wait->message);
    if (!found_.acquired)
      return put("Progressing", false,
                 found_.claims.reason.empty() ? kAcquiring : found_.claims.reason,
                 found_.claims.message);
    put("Progressing", true, kRunning, wait == nullptr ? "" : wait->message);
  }

  void put(const char* type, bool holds, std::string_view reason, std::string message) {
    const Condition* before = conditions_.find(type);
    if ((before == nullptr || before->reason != reason) &&
        !kube::remedy_for("Scheduling", reason).empty())
      out_.told.emplace_back(reason, message);
    conditions_.set(type, holds, reason, std::move(message), now_, view_.object().generation());
  }

  const SchedulingView& view_;
  const SchedulingProgress& progress_;
  const SchedulingFindings& found_;
  WallTime now_;
  StatusDraft status_;
  Conditions conditions_;
  bool confirming_ = false;
  std::string stalled_;
  SchedulingSummary out_;
};

}  // namespace

SchedulingSummary scheduling_status(const SchedulingView& view, const SchedulingProgress& progress,
                                    const SchedulingFindings& found, WallTime now) {
  return Summary(view, progress, found, now).summary();
}

}  // namespace berth::controllers
