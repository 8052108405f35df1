// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rbac/subjects.h"

namespace berth::apiserver {

KindRow cluster_role() {
  return Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles")
      .cluster_scoped()
      .creates_on_update()
      .named_by(&check_path_segment)
      .name_column()
      .column("Created At", text("metadata.creationTimestamp"), "date")
      .check([](Edit& edit, Findings& findings) { check_rules(edit, false, findings); });
}

}  // namespace berth::apiserver
