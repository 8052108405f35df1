// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow volume_attributes_class() {
  return Kind("storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses")
      .cluster_scoped()
      .short_name("vac")
      .name_column()
      .column("DriverName", text("driverName"))
      .age_column();
}

}  // namespace berth::apiserver
