// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

void fill_daemon_set(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  json::Dict& strategy = make_dict(*spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (Peek(strategy)["type"].is("RollingUpdate")) {
    json::Dict& rolling = make_dict(strategy, "rollingUpdate");
    if (!Peek(rolling)["maxUnavailable"]) rolling["maxUnavailable"] = 1;
    if (!Peek(rolling)["maxSurge"]) rolling["maxSurge"] = 0;
  }
  set_default(*spec, "revisionHistoryLimit", 10);
  if (json::Dict* pod_template = dict_in(*spec, "template")) fill_pod_template(*pod_template);
}

// The template's own generation lives on as an annotation.
void note_generation(Edit& edit, std::int64_t generation) {
  make_dict(edit.metadata(), "annotations")[bj(kTemplateGeneration)] = std::to_string(generation);
}

void new_daemon_set(Edit& edit) {
  const std::string given(Peek(edit.metadata())["annotations"][kTemplateGeneration].text());
  std::int64_t generation = given.empty() ? 0 : std::strtoll(given.c_str(), nullptr, 10);
  note_generation(edit, generation < 1 ? 1 : generation);
}

void next_daemon_set(Edit& edit) {
  const std::string before(edit.was_metadata()["annotations"][kTemplateGeneration].text());
  const std::int64_t generation = std::strtoll(before.c_str(), nullptr, 10);
  const bool changed =
      !same(Peek(edit.body())["spec"]["template"], edit.was_body()["spec"]["template"]);
  note_generation(edit, generation + (changed ? 1 : 0));
}

void check_strategy(Peek strategy, const Path& at, Findings& findings) {
  if (strategy["type"].is("OnDelete")) return;
  const Peek rolling = strategy["rollingUpdate"];
  if (!strategy["type"].is("RollingUpdate"))
    return findings.not_supported(
        at, go_struct({{"Type", strategy["type"]}, {"RollingUpdate", rolling}}),
        {"RollingUpdate", "OnDelete"});
  const Path here = at / "rollingUpdate";
  const Peek unavailable = rolling["maxUnavailable"], surge = rolling["maxSurge"];
  check_int_or_percent(unavailable, here / "maxUnavailable", findings);
  check_int_or_percent(surge, here / "maxSurge", findings);
  check_at_most_all(unavailable, here / "maxUnavailable", findings);
  check_at_most_all(surge, here / "maxSurge", findings);
  const bool some = number_or_percent(unavailable) != 0, more = number_or_percent(surge) != 0;
  if (some && more)
    findings.invalid(here / "maxSurge", as_shown(surge),
                     "may not be set when maxUnavailable is non-zero");
  else if (!some && !more)
    findings.required(here / "maxUnavailable", "cannot be 0 when maxSurge is 0");
}

void check_daemon_set(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"], selector = spec["selector"];
  const Path at("spec");
  check_label_selector(selector, at / "selector", findings);
  const Peek labels = spec["template"]["metadata"]["labels"];
  if (!selects(selector, labels))
    findings.invalid(at / "template" / "metadata" / "labels", shown_map(labels),
                     "`selector` does not match template `labels`");
  if (selector && selector["matchLabels"].size() + selector["matchExpressions"].size() == 0)
    findings.invalid(at / "selector", shown_selector(selector),
                     "empty selector is invalid for daemonset");
  check_pod_template(spec["template"], at / "template", findings);
  check_always_restarts(spec["template"], "DaemonSet", at / "template", findings);
  must_not_be_negative(spec["minReadySeconds"].integer_or(0), at / "minReadySeconds", findings);
  check_strategy(spec["updateStrategy"], at / "updateStrategy", findings);
  must_not_be_negative(spec["revisionHistoryLimit"].integer_or(0), at / "revisionHistoryLimit",
                       findings);
}

}  // namespace

KindRow daemon_set() {
  Kind kind("apps/v1", "DaemonSet", "daemonsets");
  kind.short_name("ds")
      .category("all")
      .generation()
      .status()
      .name_column()
      .column("Desired", integer("status.desiredNumberScheduled"), "integer")
      .column("Current", integer("status.currentNumberScheduled"), "integer")
      .column("Ready", integer("status.numberReady"), "integer")
      .column("Up-to-date", integer("status.updatedNumberScheduled"), "integer")
      .column("Available", integer("status.numberAvailable"), "integer")
      .column("Node Selector", labels("spec.template.spec.nodeSelector"))
      .age_column();
  return wide_template_columns(kind)
      .wide("Selector", selector("spec.selector"))
      .fill(&fill_daemon_set)
      .on_create(&new_daemon_set)
      .on_update(&next_daemon_set)
      .check(&check_daemon_set)
      .immutable({"spec.selector"});
}

}  // namespace berth::apiserver
