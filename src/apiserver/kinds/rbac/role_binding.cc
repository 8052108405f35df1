// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rbac/subjects.h"

namespace berth::apiserver {

KindRow role_binding() {
  Kind kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings");
  kind.creates_on_update().named_by(&check_path_segment).name_column();
  return binds_subjects(kind, true);
}

}  // namespace berth::apiserver
