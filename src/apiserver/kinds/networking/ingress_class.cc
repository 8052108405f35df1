// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string name_and_default(const kube::Object& object) {
  const bool is_default =
      object.annotation("ingressclass.kubernetes.io/is-default-class") == "true";
  return std::string(object.name()) + (is_default ? " (default)" : "");
}

std::string parameters(const kube::Object& object) {
  const json::Slice ref = look_up(object, "spec.parameters");
  if (!ref) return "<none>";
  std::string out = ref["kind"].text();
  if (ref["apiGroup"]) out += "." + ref["apiGroup"].text();
  return out + "/" + ref["name"].text();
}

}  // namespace

KindRow ingress_class() {
  return Kind("networking.k8s.io/v1", "IngressClass", "ingressclasses")
      .cluster_scoped()
      .generation()
      .column("Name", shown(&name_and_default))
      .format_last("name")
      .column("Controller", text("spec.controller"))
      .column("Parameters", shown(&parameters))
      .age_column()
      .fill("spec.parameters.scope", R"("Cluster")");
}

}  // namespace berth::apiserver
