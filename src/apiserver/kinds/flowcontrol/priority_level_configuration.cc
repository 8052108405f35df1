// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

// A number where the level is limited, else a word.
Cell number_or_none(std::string_view path) {
  return [path = std::string(path)](const kube::Object& object, WallTime, json::Writer& w) {
    if (const auto number = look_up(object, path).integer())
      w.integer(*number);
    else
      w.string("<none>");
  };
}

void fill_queues(Edit& edit) {
  json::Dict* at = &edit.body();
  for (const std::string_view step : {"spec", "limited", "limitResponse", "queuing"})
    if (at != nullptr) at = dict_in(*at, step);
  if (at == nullptr) return;
  for (const auto& [field, value] :
       {std::pair("queues", 64), std::pair("handSize", 8), std::pair("queueLengthLimit", 50)})
    if (Peek(*at)[field].integer_or(0) == 0) (*at)[field] = value;
}

}  // namespace

KindRow priority_level_configuration() {
  return Kind("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration",
              "prioritylevelconfigurations")
      .cluster_scoped()
      .generation()
      .status()
      .name_column()
      .column("Type", text("spec.type"))
      .column("NominalConcurrencyShares", number_or_none("spec.limited.nominalConcurrencyShares"))
      .column("Queues", number_or_none("spec.limited.limitResponse.queuing.queues"))
      .column("HandSize", number_or_none("spec.limited.limitResponse.queuing.handSize"))
      .column("QueueLengthLimit",
              number_or_none("spec.limited.limitResponse.queuing.queueLengthLimit"))
      .age_column()
      .fill("spec.limited.nominalConcurrencyShares", "30")
      .fill("spec.limited.lendablePercent", "0")
      .fill(&fill_queues);
}

}  // namespace berth::apiserver
