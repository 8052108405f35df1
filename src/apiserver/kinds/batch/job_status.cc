// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/batch/job_status.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/batch/job_spec.h"
#include "apiserver/kinds/rules.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

const Path kStatus("status");
const Path kConditions = kStatus / "conditions";

bool has_condition(Peek status, std::string_view type, std::string_view state = "True") {
  for (const json::Value& each : status["conditions"].elements())
    if (Peek(each)["type"].is(type) && Peek(each)["status"].is(state)) return true;
  return false;
}

// What of a status its conditions say.
struct Standing {
  explicit Standing(Peek status)
      : complete(has_condition(status, "Complete")),
        failed(has_condition(status, "Failed")),
        fails(has_condition(status, "FailureTarget")),
        succeeds(has_condition(status, "SuccessCriteriaMet")) {}
  bool finished() const { return complete || failed; }
  bool complete, failed, fails, succeeds;
};

struct Interval {
  std::int64_t first, last;
};

// The good ones; of others the format's check tells.
std::vector<Interval> intervals(std::string_view text, std::int64_t completions) {
  std::vector<Interval> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (count_indexes(part, completions) && !part.empty()) {
      const std::size_t dash = part.find('-');
      const std::int64_t first = std::stoll(std::string(part.substr(0, dash)));
      out.push_back({first, dash == std::string_view::npos
                                ? first
                                : std::stoll(std::string(part.substr(dash + 1)))});
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return out;
}

void check_uncounted(Peek uncounted, Findings& findings) {
  std::set<std::string_view> seen;
  for (const std::string_view list : {"succeeded", "failed"}) {
    std::size_t i = 0;
    for (const json::Value& each : uncounted[list].elements()) {
      const Path at = (kStatus / "uncountedTerminatedPods" / list)[i++];
      const std::string_view uid = Peek(each).text();
      if (uid.empty())
        findings.invalid(at, uid, "must not be empty");
      else if (!seen.insert(uid).second)
        findings.duplicate(at, uid);
    }
  }
}

void check_indexes(Peek spec, Peek now, Peek was, Findings& findings) {
  const auto completions = spec["completions"].integer();
  const bool other_done = now["completedIndexes"].text() != was["completedIndexes"].text();
  const bool other_failed = !same(now["failedIndexes"], was["failedIndexes"]);
  const bool per_index = spec["backoffLimitPerIndex"].present();
  const std::string_view done = now["completedIndexes"].text(),
                         failed = now["failedIndexes"].text();
  const Path at_done = kStatus / "completedIndexes", at_failed = kStatus / "failedIndexes";
  if (other_done && completions)
    if (const auto read = count_indexes(done, *completions); !read)
      findings.invalid(at_done, done, "error parsing completedIndexes: " + read.error().message);
  if (other_failed && completions && per_index && now["failedIndexes"])
    if (const auto read = count_indexes(failed, *completions); !read)
      findings.invalid(at_failed, failed, "error parsing failedIndexes: " + read.error().message);
  if (other_done && !done.empty() && !spec["completionMode"].is("Indexed"))
    findings.invalid(at_done, done,
                     "cannot set non-empty completedIndexes when non-indexed completion mode");
  if (other_failed && !per_index && now["failedIndexes"])
    findings.invalid(at_failed, failed,
                     "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
  if (!(other_done || other_failed) || !completions || !now["failedIndexes"]) return;
  for (const Interval& a : intervals(done, *completions))
    for (const Interval& b : intervals(failed, *completions))
      if (a.first <= b.last && b.first <= a.last)
        return findings.invalid(
            at_failed, failed,
            fmt::format("failedIndexes and completedIndexes overlap at index: {}",
                        std::max(a.first, b.first)));
}

}  // namespace

void check_job_status(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"], now(edit.status()), was = edit.was_status();
  const Standing is(now), before(was);
  const bool other_end = is.finished() != before.finished();
  const bool other_completion = is.complete != before.complete;
  const auto changed = [&](std::string_view field) {
    return now[field].integer_or(0) != was[field].integer_or(0) ||
           now[field].present() != was[field].present();
  };
  const bool other_start = !same(now["startTime"], was["startTime"]);
  const bool other_completed_at = !same(now["completionTime"], was["completionTime"]);
  const auto count = [&](std::string_view field) { return now[field].integer_or(0); };

  for (const std::string_view field : {"active", "succeeded", "failed", "ready", "terminating"})
    must_not_be_negative(count(field), kStatus / field, findings);
  check_uncounted(now["uncountedTerminatedPods"], findings);
  if ((other_completion || is.failed != before.failed) && is.complete && is.failed)
    findings.invalid_unshown(kConditions, "cannot set Complete=True and Failed=true conditions");
  if ((other_completion || is.fails != before.fails) && is.complete && is.fails)
    findings.invalid_unshown(kConditions,
                             "cannot set Complete=True and FailureTarget=true conditions");
  const Path completed_at = kStatus / "completionTime";
  if (other_completion || other_completed_at) {
    if (now["completionTime"] && !is.complete)
      findings.invalid(completed_at, as_shown(now["completionTime"]),
                       "cannot set completionTime when there is no Complete=True condition");
    if (!now["completionTime"] && is.complete)
      findings.required(completed_at, "completionTime is required for Complete jobs");
  }
  if ((other_start || other_completed_at) && now["startTime"] && now["completionTime"]) {
    const auto start = kube::parse_time(now["startTime"].text());
    const auto end = kube::parse_time(now["completionTime"].text());
    if (start && end && *end < *start)
      findings.invalid(completed_at, as_shown(now["completionTime"]),
                       "must be equal to or after `startTime`");
  }
  if ((is.failed != before.failed || !same(now["failedIndexes"], was["failedIndexes"])) &&
      is.failed && !is.fails)
    findings.invalid_unshown(
        kConditions, "cannot set Failed=True condition without the FailureTarget=true condition");
  if ((other_completion || is.succeeds != before.succeeds) && is.complete && !is.succeeds)
    findings.invalid_unshown(
        kConditions,
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  if ((other_end || changed("active")) && is.finished() && count("active") > 0)
    findings.invalid(kStatus / "active", count("active"), "active>0 is invalid for finished job");
  const bool empty_and_suspended =
      spec["suspend"].boolean() && spec["completions"].integer() == std::int64_t{0};
  if ((other_end || other_start) && !empty_and_suspended && is.finished() && !now["startTime"])
    findings.required(kStatus / "startTime", "startTime is required for finished job");
  const Peek uncounted = now["uncountedTerminatedPods"];
  if ((other_end || !same(uncounted, was["uncountedTerminatedPods"])) && is.finished() &&
      uncounted["failed"].size() + uncounted["succeeded"].size() > 0)
    findings.invalid(
        kStatus / "uncountedTerminatedPods",
        go_struct({{"Succeeded", uncounted["succeeded"]}, {"Failed", uncounted["failed"]}}),
        "must be empty for finished job");
  check_indexes(spec, now, was, findings);
  if ((other_end || changed("terminating")) && is.finished() && count("terminating") > 0)
    findings.invalid(kStatus / "terminating", count("terminating"),
                     "terminating>0 is invalid for finished job");
  if ((changed("ready") || changed("active")) && now["ready"] && count("ready") > count("active"))
    findings.invalid(kStatus / "ready", count("ready"), "cannot set more ready pods than active");
  if (is.succeeds && is.failed)
    findings.invalid_unshown(kConditions,
                             "cannot set SuccessCriteriaMet=True and Failed=true conditions");
  if (is.succeeds && is.fails)
    findings.invalid_unshown(
        kConditions, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
  if (spec["successPolicy"] && !is.succeeds && is.complete)
    findings.invalid_unshown(kConditions,
                             "cannot set Complete=True for Job with SuccessPolicy unless "
                             "SuccessCriteriaMet=True");

  for (const std::string_view type : {"Failed", "Complete", "FailureTarget"})
    if (has_condition(was, type) && !has_condition(now, type))
      findings.invalid_unshown(kConditions,
                               fmt::format("cannot disable the terminal {}=True condition", type));
  if (count("failed") < was["failed"].integer_or(0))
    findings.invalid(kStatus / "failed", count("failed"), "cannot decrease the failed counter");
  // Jobs as wide as they are long may be scaled down, and then have fewer.
  const bool shrinks =
      spec["completionMode"].is("Indexed") && same(spec["completions"], spec["parallelism"]);
  if (!shrinks && count("succeeded") < was["succeeded"].integer_or(0))
    findings.invalid(kStatus / "succeeded", count("succeeded"),
                     "cannot decrease the succeeded counter");
  if (now["completionTime"] && was["completionTime"] && other_completed_at)
    findings.invalid(completed_at, as_shown(now["completionTime"]), "field is immutable");
  const bool resumes = has_condition(was, "Suspended") && has_condition(now, "Suspended", "False");
  if (other_start && !resumes && was["startTime"] && !spec["suspend"].boolean())
    findings.invalid(kStatus / "startTime", as_shown(now["startTime"]),
                     "field is immutable for unsuspended job once set");
  if (before.succeeds && !is.succeeds)
    findings.invalid_unshown(kConditions, "cannot disable the SuccessCriteriaMet=True condition");
  if (before.complete && !before.succeeds && is.succeeds)
    findings.invalid_unshown(
        kConditions,
        "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
}

}  // namespace berth::apiserver
