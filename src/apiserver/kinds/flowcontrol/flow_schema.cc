// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string dangling(const kube::Object& object) {
  for (const json::Slice condition : object.status()["conditions"].elements())
    if (condition["type"].equals("Dangling")) return condition["status"].text();
  return "?";
}

}  // namespace

KindRow flow_schema() {
  return Kind("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas")
      .cluster_scoped()
      .generation()
      .status()
      .name_column()
      .column("PriorityLevel", text("spec.priorityLevelConfiguration.name"))
      .column("MatchingPrecedence", integer("spec.matchingPrecedence"))
      .column("DistinguisherMethod", text("spec.distinguisherMethod.type", "<none>"))
      .age_column()
      .column("MissingPL", shown(&dangling))
      .fill([](Edit& edit) {
        if (json::Dict* spec = dict_in(edit.body(), "spec"))
          if (Peek(*spec)["matchingPrecedence"].integer_or(0) == 0)
            (*spec)["matchingPrecedence"] = 1000;
      });
}

}  // namespace berth::apiserver
