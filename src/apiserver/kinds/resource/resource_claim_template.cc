// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/resource/device_requests.h"

namespace berth::apiserver {

KindRow resource_claim_template() {
  return Kind("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates")
      .name_column()
      .age_column()
      .fill(&fill_devices);
}

}  // namespace berth::apiserver
