// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void fill_replica_set(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "replicas", 1);
  if (json::Dict* pod_template = dict_in(*spec, "template")) fill_pod_template(*pod_template);
}

void check_replica_set(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  must_not_be_negative(spec["replicas"].integer_or(0), at / "replicas", findings);
  must_not_be_negative(spec["minReadySeconds"].integer_or(0), at / "minReadySeconds", findings);
  // k8s 1.36: told as of a deployment.
  check_selector(spec["selector"], "deployment", at / "selector", findings);
  check_replicated_template(spec, at, findings);
}

}  // namespace

KindRow replica_set() {
  Kind kind("apps/v1", "ReplicaSet", "replicasets");
  kind.short_name("rs")
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
      .wide("Selector", selector("spec.selector"))
      .fill(&fill_replica_set)
      .check(&check_replica_set)
      .immutable({"spec.selector"});
}

}  // namespace berth::apiserver
