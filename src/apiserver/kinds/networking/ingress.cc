// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string hosts(const kube::Object& object) {
  constexpr std::size_t kMost = 3;
  const json::Slice rules = look_up(object, "spec.rules");
  std::string out;
  std::size_t listed = 0;
  bool more = false;
  for (const json::Slice rule : rules.elements()) {
    if (listed == kMost) more = true;
    const std::string host = rule["host"].text();
    if (more || host.empty()) continue;
    if (listed++ > 0) out += ',';
    out += host;
  }
  if (listed == 0) return "*";
  return more ? out + " + " + std::to_string(rules.size() - kMost) + " more..." : out;
}

std::string addresses(const kube::Object& object) {
  return load_balancer_text(object.status()["loadBalancer"]);
}

std::string ports(const kube::Object& object) {
  return look_up(object, "spec.tls").size() > 0 ? "80, 443" : "80";
}

}  // namespace

KindRow ingress() {
  return Kind("networking.k8s.io/v1", "Ingress", "ingresses")
      .short_name("ing")
      .generation()
      .status()
      .name_column()
      .column("Class", text("spec.ingressClassName", "<none>"))
      .column("Hosts", shown(&hosts))
      .column("Address", shown(&addresses))
      .column("Ports", shown(&ports))
      .age_column();
}

}  // namespace berth::apiserver
