// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/batch/job_spec.h"
#include "apiserver/kinds/batch/job_status.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kNameLabels[] = {"job-name", "batch.kubernetes.io/job-name"};
constexpr std::string_view kUidLabels[] = {"controller-uid", "batch.kubernetes.io/controller-uid"};

std::string status(const kube::Object& job) {
  const json::Slice conditions = job.status()["conditions"];
  if (has_condition(conditions, "Complete")) return "Complete";
  if (has_condition(conditions, "Failed")) return "Failed";
  if (job.deleting()) return "Terminating";
  for (const std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (has_condition(conditions, type)) return std::string(type);
  return "Running";
}

std::string completions(const kube::Object& job) {
  const std::int64_t done = job.status()["succeeded"].integer().value_or(0);
  const json::Slice spec = job.member("spec");
  if (const auto wanted = spec["completions"].integer()) return fmt::format("{}/{}", done, *wanted);
  const std::int64_t parallel = spec["parallelism"].integer().value_or(0);
  return parallel > 1 ? fmt::format("{}/1 of {}", done, parallel) : fmt::format("{}/1", done);
}

std::string duration(const kube::Object& job, WallTime now) {
  const auto start = kube::parse_time(job.status()["startTime"].text());
  if (!start) return "";
  const auto end = kube::parse_time(job.status()["completionTime"].text());
  return human_duration((end ? *end : now) - *start);
}

// A job without labels has those of its pods.
void take_labels(Edit& edit) {
  const Peek labels = Peek(edit.body())["spec"]["template"]["metadata"]["labels"];
  if (labels && Peek(edit.metadata())["labels"].size() == 0)
    edit.metadata()["labels"] = *labels.value();
}

void fill_job(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  if (!Peek(*spec)["completions"] && !Peek(*spec)["parallelism"]) (*spec)["completions"] = 1;
  set_default(*spec, "parallelism", 1);
  set_default(*spec, "backoffLimit", Peek(*spec)["backoffLimitPerIndex"] ? 2147483647 : 6);
  if (edit.from().valid()) take_labels(edit);
  set_default(*spec, "completionMode", "NonIndexed");
  set_default(*spec, "suspend", false);
  set_default(*spec, "podReplacementPolicy",
              Peek(*spec)["podFailurePolicy"] ? "Failed" : "TerminatingOrFailed");
  set_default(*spec, "manualSelector", false);
  fill_job_pattern(*spec);
}

// A job finds its pods by its own uid, unless somebody knows better.
void select_by_uid(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr || Peek(*spec)["manualSelector"].boolean()) return;
  const Peek metadata(edit.metadata());
  const std::string name(metadata["name"].text()), uid(metadata["uid"].text());
  json::Dict& labels = make_dict(make_dict(make_dict(*spec, "template"), "metadata"), "labels");
  for (const std::string_view key : kNameLabels)
    if (!labels.contains(bj(key))) labels[bj(key)] = name;
  for (const std::string_view key : kUidLabels)
    if (!labels.contains(bj(key))) labels[bj(key)] = uid;
  json::Dict& matched = make_dict(make_dict(*spec, "selector"), "matchLabels");
  if (!matched.contains(bj(kUidLabels[1]))) matched[bj(kUidLabels[1])] = uid;
}

void new_job(Edit& edit) {
  select_by_uid(edit);
  // k8s 1.36: what the defaults give a new job is the very map that the selector then adds to.
  take_labels(edit);
}

void check_generated_selector(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"], metadata(edit.metadata());
  if (spec["manualSelector"].boolean() || !spec["selector"]) return;
  const Path at = Path("spec") / "template" / "metadata";
  json::Dict expected;
  const auto need = [&](std::string_view key, std::string_view value) {
    const Peek found = spec["template"]["metadata"]["labels"][key];
    if (!found)
      findings.required((at / "labels").key(key), fmt::format("must be '{}'", value));
    else if (found.text() != value)
      findings.invalid((at / "labels").key(key), shown_map(spec["template"]["metadata"]["labels"]),
                       fmt::format("must be '{}'", value));
    expected[bj(key)] = bj(value);
  };
  const std::string_view name = metadata["name"].text(), uid = metadata["uid"].text();
  need(kUidLabels[0], uid);
  need(kNameLabels[0], name);
  need(kUidLabels[1], uid);
  need(kNameLabels[1], name);
  if (!selects(spec["selector"], Peek(expected)))
    findings.invalid(Path("spec") / "selector", shown_selector(spec["selector"]),
                     "`selector` not auto-generated");
}

void check_job(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  check_job_spec(spec, at, findings);
  if (!spec["selector"])
    findings.required(at / "selector");
  else
    check_label_selector(spec["selector"], at / "selector", findings);
  const Peek labels = spec["template"]["metadata"]["labels"];
  if (!selects(spec["selector"], labels))
    findings.invalid(at / "template" / "metadata" / "labels", shown_map(labels),
                     "`selector` does not match template `labels`");
}

void check_last_hostname(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const auto wanted = spec["completions"].integer();
  if (!spec["completionMode"].is("Indexed") || !wanted || *wanted <= 0) return;
  const std::string name(Peek(edit.metadata())["name"].text());
  const std::string last = fmt::format("{}-{}", name, *wanted - 1);
  if (!kube::check_dns_label(last).empty())
    findings.invalid(Path("metadata") / "name", name,
                     "will not able to create pod with invalid DNS label: " + last);
}

void check_template_update(Peek now, Peek was, Edit& edit, Findings& findings) {
  json::Value allowed(was["template"].members(), edit.arena().storage());
  // A job that is suspended and has not started may still be directed elsewhere.
  if (was["suspend"].boolean() && !edit.was_status()["startTime"]) {
    json::Dict& pod_template = allowed.as_object();
    const auto take = [](json::Dict& to, std::string_view key, Peek from) {
      json::erase(to, key);
      if (from) to[bj(key)] = *from.value();
    };
    json::Dict& spec = make_dict(pod_template, "spec");
    const Peek next = now["template"]["spec"];
    for (const std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"})
      take(spec, field, next[field]);
    json::Dict& affinity = make_dict(spec, "affinity");
    take(affinity, "nodeAffinity", next["affinity"]["nodeAffinity"]);
    if (affinity.empty()) json::erase(spec, "affinity");
    json::Dict& metadata = make_dict(pod_template, "metadata");
    for (const std::string_view field : {"labels", "annotations"})
      take(metadata, field, now["template"]["metadata"][field]);
  }
  if (!same(now["template"], Peek(allowed)))
    findings.invalid(Path("spec") / "template", as_shown(now["template"]), "field is immutable");
}

void check_job_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  const Path at("spec");
  const auto fixed = [&](std::string_view field) {
    if (!same(now[field], was[field]))
      findings.invalid(at / field, as_shown(now[field]), "field is immutable");
  };
  if (!now["completionMode"].is("Indexed"))
    fixed("completions");
  else if (now["completions"] && !same(now["completions"], was["completions"]) &&
           !same(now["completions"], now["parallelism"]))
    findings.invalid(at / "completions", as_shown(now["completions"]),
                     "can only be modified in tandem with spec.parallelism");
  fixed("selector");
  check_template_update(now, was, edit, findings);
  for (const std::string_view field :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    fixed(field);
}

std::string successful(const kube::Object& job) {
  return std::to_string(job.status()["succeeded"].integer().value_or(0));
}

}  // namespace

KindRow job() {
  Kind kind("batch/v1", "Job", "jobs");
  kind.category("all")
      .generation()
      .status()
      .name_column()
      .column("Status", shown(&status))
      .column("Completions", shown(&completions))
      .column("Duration", shown_at(&duration))
      .age_column();
  return wide_template_columns(kind)
      .wide("Selector", selector("spec.selector"))
      .selectable("status.successful", &successful)
      .fill(&fill_job)
      .on_create(&new_job)
      .check_create(&check_generated_selector)
      .check(&check_job)
      .check_create(&check_last_hostname)
      .check_update(&check_job_update)
      .check_status(&check_job_status);
}

}  // namespace berth::apiserver
