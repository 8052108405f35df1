// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/resource/device_requests.h"

namespace berth::apiserver {

namespace {

std::string state(const kube::Object& object) {
  std::string out = object.deleting() ? "deleted" : "";
  const json::Slice status = object.status();
  if (!status["allocation"] || status["allocation"].is_null())
    return object.deleting() ? out : "pending";
  out += out.empty() ? "allocated" : ",allocated";
  return status["reservedFor"].size() > 0 ? out + ",reserved" : out;
}

}  // namespace

KindRow resource_claim() {
  return Kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims")
      .status()
      .name_column()
      .column("State", shown(&state))
      .age_column()
      .fill(&fill_devices);
}

}  // namespace berth::apiserver
