// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

Cell bound(std::string_view path) {
  return shown([path = std::string(path)](const kube::Object& budget) -> std::string {
    const json::Slice value = look_up(budget, path);
    if (!value) return "N/A";
    return value.is_string() ? value.text() : std::string(value.raw());
  });
}

void check_budget(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  const Peek least = spec["minAvailable"], most = spec["maxUnavailable"];
  if (least && most)
    findings.invalid(
        at,
        go_struct({{"MinAvailable", least},
                   {"Selector", spec["selector"]},
                   {"MaxUnavailable", most},
                   {"UnhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"]}}),
        "minAvailable and maxUnavailable cannot be both set");
  for (const std::string_view field : {"minAvailable", "maxUnavailable"})
    if (spec[field]) {
      check_int_or_percent(spec[field], at / field, findings);
      check_at_most_all(spec[field], at / field, findings);
    }
  check_label_selector(spec["selector"], at / "selector", findings);
  const Peek policy = spec["unhealthyPodEvictionPolicy"];
  if (policy && !one_of(policy.text(), {"AlwaysAllow", "IfHealthyBudget"}))
    findings.not_supported(at / "unhealthyPodEvictionPolicy", policy.text(),
                           {"AlwaysAllow", "IfHealthyBudget"});
}

}  // namespace

KindRow pod_disruption_budget() {
  return Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
      .short_name("pdb")
      .conditional_update()
      .named_by(&check_path_segment)
      .generation()
      .status()
      .name_column()
      .column("Min Available", bound("spec.minAvailable"))
      .column("Max Unavailable", bound("spec.maxUnavailable"))
      .column("Allowed Disruptions", integer("status.disruptionsAllowed"), "integer")
      .age_column()
      .check(&check_budget);
}

}  // namespace berth::apiserver
