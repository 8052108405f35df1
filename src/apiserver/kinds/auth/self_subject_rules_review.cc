// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow self_subject_rules_review() {
  return Kind("authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews")
      .cluster_scoped()
      .request();
}

}  // namespace berth::apiserver
