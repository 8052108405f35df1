// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow csi_node() {
  return Kind("storage.k8s.io/v1", "CSINode", "csinodes")
      .cluster_scoped()
      .conditional_update()
      .name_column()
      .column("Drivers", count("spec.drivers"), "integer")
      .age_column();
}

}  // namespace berth::apiserver
