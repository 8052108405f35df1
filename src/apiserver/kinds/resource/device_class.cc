// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow device_class() {
  return Kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses")
      .cluster_scoped()
      .generation()
      .name_column()
      .age_column();
}

}  // namespace berth::apiserver
