// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/batch/job_spec.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"
#include "base/lower.h"
#include "kube/cron_schedule.h"

namespace berth::apiserver {
namespace {

std::string suspended(const kube::Object& job) {
  const json::Slice value = look_up(job, "spec.suspend");
  return !value ? "<unset>" : value.boolean() ? "True" : "False";
}

std::string last_schedule(const kube::Object& job, WallTime now) {
  const json::Slice time = look_up(job, "status.lastScheduleTime");
  return time ? since(time, now) : "<none>";
}

void fill_cron_job(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "concurrencyPolicy", "Allow");
  set_default(*spec, "suspend", false);
  set_default(*spec, "successfulJobsHistoryLimit", 3);
  set_default(*spec, "failedJobsHistoryLimit", 1);
  if (json::Dict* job = dict_in(*spec, "jobTemplate"))
    if (json::Dict* job_spec = dict_in(*job, "spec")) fill_job_pattern(*job_spec);
}

bool has_form_of_zone(std::string_view name) {
  while (true) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part.size() > 14 || part == "." || part == ".." || part.front() == '-')
      return false;
    for (const char c : part)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || c == '-' || c == '+' || c == '.'))
        return false;
    if (end == name.size()) return true;
    name.remove_prefix(end + 1);
  }
}

void check_time_zone(Peek zone, const Path& at, Findings& findings) {
  if (!zone) return;
  const std::string_view name = zone.text();
  if (name.empty()) return findings.invalid(at, "", "timeZone must be nil or non-empty string");
  if (!has_form_of_zone(name))
    return findings.invalid(at, name, fmt::format("unknown time zone {}", name));
  if (lower(name) == "local")
    findings.invalid(at, name,
                     "timeZone must be an explicit time zone as defined in "
                     "https://www.iana.org/time-zones");
  if (name == "Local") return;
  const Result<kube::TimeZone> found = kube::time_zone(name);
  // A machine without a database cannot tell; the controller will say so.
  if (!found && found.error().reason != Reason::kServiceUnavailable)
    findings.invalid(at, name, found.error().message);
}

void check_cron_job(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  const std::string_view schedule = spec["schedule"].text();
  if (schedule.empty()) {
    findings.required(at / "schedule");
  } else {
    if (const auto read = kube::CronSchedule::parse(schedule); !read)
      findings.invalid(at / "schedule", schedule, read.error().message);
    const bool had_zone =
        edit.was_body()["spec"]["schedule"].text().find("TZ") != std::string::npos;
    if (schedule.find("TZ") != std::string_view::npos) {
      if (!had_zone)
        findings.invalid(at / "schedule", schedule,
                         "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
      else if (spec["timeZone"])
        findings.invalid(at / "schedule", schedule,
                         "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    }
  }
  if (const auto seconds = spec["startingDeadlineSeconds"].integer())
    must_not_be_negative(*seconds, at / "startingDeadlineSeconds", findings);
  if (!edit.from().valid() || !same(spec["timeZone"], edit.was_body()["spec"]["timeZone"]))
    check_time_zone(spec["timeZone"], at / "timeZone", findings);
  must_be_one_of(spec["concurrencyPolicy"].text(), {"Allow", "Forbid", "Replace"},
                 at / "concurrencyPolicy", findings);
  const Peek job = spec["jobTemplate"]["spec"];
  const Path job_at = at / "jobTemplate" / "spec";
  check_job_spec(job, job_at, findings);
  if (job["selector"])
    findings.invalid(job_at / "selector", shown_selector(job["selector"]),
                     "`selector` will be auto-generated");
  if (job["manualSelector"].boolean())
    findings.not_supported(job_at / "manualSelector", true, {"nil", "false"});
  for (const std::string_view field : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    if (const auto limit = spec[field].integer())
      must_not_be_negative(*limit, at / field, findings);
}

void check_name_length(Edit& edit, Findings& findings) {
  const std::string_view name = Peek(edit.metadata())["name"].text();
  if (name.size() > 52)
    findings.invalid(Path("metadata") / "name", name, "must be no more than 52 characters");
}

}  // namespace

KindRow cron_job() {
  return Kind("batch/v1", "CronJob", "cronjobs")
      .short_name("cj")
      .category("all")
      .generation()
      .status()
      .name_column()
      .column("Schedule", text("spec.schedule"))
      .column("Timezone", text("spec.timeZone", "<none>"))
      .column("Suspend", shown(&suspended), "boolean")
      .column("Active", count("status.active"), "integer")
      .column("Last Schedule", shown_at(&last_schedule))
      .age_column()
      .wide("Containers", names_of_containers("spec.jobTemplate.spec.template.spec"))
      .wide("Images", images_of_containers("spec.jobTemplate.spec.template.spec"))
      .wide("Selector", selector("spec.jobTemplate.spec.selector"))
      .fill(&fill_cron_job)
      .check(&check_cron_job)
      .check_create(&check_name_length);
}

}  // namespace berth::apiserver
