// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow component_status() {
  return Kind("v1", "ComponentStatus", "componentstatuses")
      .cluster_scoped()
      .short_name("cs")
      .only({"get", "list"})
      .deprecated("v1.19")
      .name_column()
      .column("Status", text("status", "Unknown"))
      .column("Message", text("message"))
      .column("Error", text("error"));
}

}  // namespace berth::apiserver
