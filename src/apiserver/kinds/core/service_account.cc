// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow service_account() {
  return Kind("v1", "ServiceAccount", "serviceaccounts")
      .short_name("sa")
      .subresource({.name = "token",
                    .kind = "TokenRequest",
                    .group = "authentication.k8s.io",
                    .version = "v1",
                    .verbs = {"create"}})
      .name_column()
      .age_column();
}

}  // namespace berth::apiserver
