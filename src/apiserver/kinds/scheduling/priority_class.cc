// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::int64_t kHighestForUsers = 1'000'000'000;
constexpr std::pair<std::string_view, std::int64_t> kSystem[] = {
    {"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}};

void check_system_name(Edit& edit, std::string_view name, Findings& findings) {
  const Peek body(edit.body());
  std::string why = fmt::format("{} is not a known system priority class", name);
  for (const auto& [known, value] : kSystem) {
    if (known != name) continue;
    if (body["value"].integer_or(0) != value)
      why = fmt::format("value of {} PriorityClass must be {}", name, value);
    else if (body["globalDefault"].boolean())
      why = fmt::format("globalDefault of {} PriorityClass must be false", name);
    else
      return;
  }
  findings.forbidden(Path("metadata") / "name",
                     "priority class names with 'system-' prefix are reserved for system use only. "
                     "error: " +
                         why);
}

void check_priority_class(Edit& edit, Findings& findings) {
  const Peek body(edit.body());
  const std::string name(Peek(edit.metadata())["name"].text());
  if (name.starts_with("system-"))
    check_system_name(edit, name, findings);
  else if (body["value"].integer_or(0) > kHighestForUsers)
    findings.forbidden(
        Path("value"),
        fmt::format("maximum allowed value of a user defined priority is {}", kHighestForUsers));
  if (body["preemptionPolicy"])
    must_be_one_of(body["preemptionPolicy"].text(), {"PreemptLowerPriority", "Never"},
                   Path("preemptionPolicy"), findings);
}

void check_same_value(Edit& edit, Findings& findings) {
  if (Peek(edit.body())["value"].integer_or(0) != edit.was_body()["value"].integer_or(0))
    findings.forbidden(Path("value"), "may not be changed in an update.");
}

}  // namespace

KindRow priority_class() {
  return Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses")
      .cluster_scoped()
      .short_name("pc")
      // k8s 1.36: the generation is set and never counted on.
      .on_create([](Edit& edit) { edit.metadata()["generation"] = 1; })
      .name_column()
      .column("Value", integer("value"), "integer")
      .column("Global-Default", boolean("globalDefault"), "boolean")
      .age_column()
      .column("PreemptionPolicy", text("preemptionPolicy"))
      .fill("preemptionPolicy", R"("PreemptLowerPriority")")
      .check_create(&check_priority_class)
      .check_update(&check_same_value)
      .immutable({"preemptionPolicy"});
}

}  // namespace berth::apiserver
