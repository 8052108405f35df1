// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow resource_slice() {
  return Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices")
      .cluster_scoped()
      .generation()
      .name_column()
      .column("Node", text("spec.nodeName"))
      .column("Driver", text("spec.driver"))
      .column("Pool", text("spec.pool.name"))
      .age_column()
      .selectable("spec.nodeName")
      .selectable("spec.driver");
}

}  // namespace berth::apiserver
