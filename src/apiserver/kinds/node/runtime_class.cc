// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow runtime_class() {
  return Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses")
      .cluster_scoped()
      .conditional_update()
      .creates_on_update()
      .name_column()
      .column("Handler", text("handler"))
      .age_column();
}

}  // namespace berth::apiserver
