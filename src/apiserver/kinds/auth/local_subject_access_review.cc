// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow local_subject_access_review() {
  return Kind("authorization.k8s.io/v1", "LocalSubjectAccessReview", "localsubjectaccessreviews")
      .request();
}

}  // namespace berth::apiserver
