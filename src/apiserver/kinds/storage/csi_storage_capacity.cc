// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow csi_storage_capacity() {
  return Kind("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities")
      .conditional_update()
      .name_column()
      // k8s 1.36: its own columns are not wired up; it is shown as what has none.
      .column("Created At", text("metadata.creationTimestamp"), "date");
}

}  // namespace berth::apiserver
