// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

void fill_types(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  for (const std::string_view direction : {"ingress", "egress"})
    each_dict(*spec, direction, [](json::Dict& rule) {
      each_dict(rule, "ports", [](json::Dict& port) { set_default(port, "protocol", "TCP"); });
    });
  if (Peek(*spec)["policyTypes"].size() > 0) return;
  json::List types(edit.arena().storage());
  types.emplace_back("Ingress");
  if (Peek(*spec)["egress"].size() > 0) types.emplace_back("Egress");
  (*spec)["policyTypes"] = std::move(types);
}

}  // namespace

KindRow network_policy() {
  return Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
      .short_name("netpol")
      .generation()
      .name_column()
      .column("Pod-Selector", selector("spec.podSelector"))
      .age_column()
      .fill(&fill_types);
}

}  // namespace berth::apiserver
