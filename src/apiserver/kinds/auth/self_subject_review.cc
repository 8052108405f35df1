// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow self_subject_review() {
  return Kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews")
      .cluster_scoped()
      .request();
}

}  // namespace berth::apiserver
