// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string audiences(const kube::Object& object) {
  const json::Slice requests = look_up(object, "spec.tokenRequests");
  if (!requests) return "<unset>";
  std::string out;
  for (const json::Slice request : requests.elements())
    out += (out.empty() ? "" : ",") + request["audience"].text();
  return out;
}

std::string modes(const kube::Object& object) {
  const std::string out = joined(look_up(object, "spec.volumeLifecycleModes"));
  return out.empty() ? "<none>" : out;
}

}  // namespace

KindRow csi_driver() {
  return Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers")
      .cluster_scoped()
      .conditional_update()
      .name_column()
      .column("AttachRequired", boolean("spec.attachRequired", true), "boolean")
      .column("PodInfoOnMount", boolean("spec.podInfoOnMount"), "boolean")
      .column("StorageCapacity", boolean("spec.storageCapacity"), "boolean")
      .column("TokenRequests", shown(&audiences))
      .column("RequiresRepublish", boolean("spec.requiresRepublish"), "boolean")
      .column("Modes", shown(&modes))
      .age_column()
      .fill("spec.attachRequired", "true")
      .fill("spec.podInfoOnMount", "false")
      .fill("spec.storageCapacity", "false")
      .fill("spec.fsGroupPolicy", R"("ReadWriteOnceWithFSType")")
      .fill("spec.volumeLifecycleModes", R"(["Persistent"])")
      .fill("spec.requiresRepublish", "false")
      .fill("spec.seLinuxMount", "false");
}

}  // namespace berth::apiserver
