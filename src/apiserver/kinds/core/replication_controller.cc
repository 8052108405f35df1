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

void fill_controller(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  if (!Peek(*spec)["replicas"]) (*spec)["replicas"] = 1;
  if (json::Dict* pods = dict_in(*spec, "template")) fill_pod_template(*pods);
  const Peek labels = Peek(*spec)["template"]["metadata"]["labels"];
  if (!labels) return;
  if (Peek(edit.metadata())["labels"].size() == 0) edit.metadata()["labels"] = *labels.value();
  if (Peek(*spec)["selector"].size() == 0) (*spec)["selector"] = json::Value(*labels.value());
}

void check_controller(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"], pods = spec["template"];
  const Path at("spec");
  must_not_be_negative(spec["minReadySeconds"].integer_or(0), at / "minReadySeconds", findings);
  if (spec["selector"].size() == 0) findings.required(at / "selector");
  must_not_be_negative(spec["replicas"].integer_or(0), at / "replicas", findings);
  if (!pods) return findings.required(at / "template");
  const Peek labels = pods["metadata"]["labels"];
  for (const auto& wanted : spec["selector"].members())
    if (labels[sv(wanted.key())].text() != Peek(wanted.value()).text() ||
        !labels[sv(wanted.key())]) {
      findings.invalid(at / "template" / "metadata" / "labels", shown_map(labels),
                       "`selector` does not match template `labels`");
      break;
    }
  check_pod_template(pods, at / "template", findings);
  check_always_restarts(pods, "ReplicationController", at / "template", findings);
}

}  // namespace

KindRow replication_controller() {
  Kind kind("v1", "ReplicationController", "replicationcontrollers");
  kind.short_name("rc")
      .category("all")
      .generation()
      .status()
      .scale()
      .name_column()
      .column("Desired", integer("spec.replicas"), "integer")
      .column("Current", integer("status.replicas"), "integer")
      .column("Ready", integer("status.readyReplicas"), "integer")
      .age_column();
  return wide_template_columns(kind)
      .wide("Selector", labels("spec.selector"))
      .selectable("status.replicas")
      .fill(&fill_controller)
      .check(&check_controller);
}

}  // namespace berth::apiserver
