// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void fill_deployment(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  json::Dict& strategy = make_dict(*spec, "strategy");
  set_default(strategy, "type", "RollingUpdate");
  if (Peek(strategy)["type"].is("RollingUpdate")) {
    json::Dict& rolling = make_dict(strategy, "rollingUpdate");
    if (!Peek(rolling)["maxUnavailable"]) rolling["maxUnavailable"] = "25%";
    if (!Peek(rolling)["maxSurge"]) rolling["maxSurge"] = "25%";
  }
  set_default(*spec, "revisionHistoryLimit", 10);
  set_default(*spec, "progressDeadlineSeconds", 600);
  if (json::Dict* pod_template = dict_in(*spec, "template")) fill_pod_template(*pod_template);
}

void check_strategy(Peek strategy, const Path& at, Findings& findings) {
  const Peek rolling = strategy["rollingUpdate"];
  if (strategy["type"].is("Recreate")) {
    if (rolling)
      findings.forbidden(at / "rollingUpdate",
                         "may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  if (!strategy["type"].is("RollingUpdate"))
    return findings.not_supported(
        at, go_struct({{"Type", strategy["type"]}, {"RollingUpdate", rolling}}),
        {"Recreate", "RollingUpdate"});
  const Path here = at / "rollingUpdate";
  const Peek unavailable = rolling["maxUnavailable"], surge = rolling["maxSurge"];
  check_int_or_percent(unavailable, here / "maxUnavailable", findings);
  check_int_or_percent(surge, here / "maxSurge", findings);
  if (number_or_percent(unavailable) == 0 && number_or_percent(surge) == 0)
    findings.invalid(here / "maxUnavailable", as_shown(unavailable),
                     "may not be 0 when `maxSurge` is 0");
  check_at_most_all(unavailable, here / "maxUnavailable", findings);
}

void check_deployment(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  must_not_be_negative(spec["replicas"].integer_or(0), at / "replicas", findings);
  check_selector(spec["selector"], "deployment", at / "selector", findings);
  check_replicated_template(spec, at, findings);
  check_strategy(spec["strategy"], at / "strategy", findings);
  must_not_be_negative(spec["minReadySeconds"].integer_or(0), at / "minReadySeconds", findings);
  must_not_be_negative(spec["revisionHistoryLimit"].integer_or(0), at / "revisionHistoryLimit",
                       findings);
  if (const auto deadline = spec["progressDeadlineSeconds"].integer()) {
    must_not_be_negative(*deadline, at / "progressDeadlineSeconds", findings);
    if (*deadline <= spec["minReadySeconds"].integer_or(0))
      findings.invalid(at / "progressDeadlineSeconds", *deadline,
                       "must be greater than minReadySeconds");
  }
}

// k8s 1.36: a deployment's annotations count as part of what is wanted of it.
void count_annotations(Edit& edit) {
  if (same(Peek(edit.body()), edit.was_body()) &&
      !same(Peek(edit.metadata())["annotations"], edit.was_metadata()["annotations"]))
    edit.metadata()["generation"] = edit.from().generation() + 1;
}

}  // namespace

KindRow deployment() {
  Kind kind("apps/v1", "Deployment", "deployments");
  kind.short_name("deploy")
      .category("all")
      .generation()
      .status()
      .scale()
      .name_column()
      .column("Ready", ready_of_wanted())
      .column("Up-to-date", integer("status.updatedReplicas"))
      .column("Available", integer("status.availableReplicas"))
      .age_column();
  return wide_template_columns(kind)
      .wide("Selector", selector("spec.selector"))
      .fill(&fill_deployment)
      .on_update(&count_annotations)
      .check(&check_deployment)
      .immutable({"spec.selector"});
}

}  // namespace berth::apiserver
