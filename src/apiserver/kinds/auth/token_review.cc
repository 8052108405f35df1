// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow token_review() {
  return Kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews").cluster_scoped().request();
}

}  // namespace berth::apiserver
