// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow subject_access_review() {
  return Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews")
      .cluster_scoped()
      .request();
}

}  // namespace berth::apiserver
