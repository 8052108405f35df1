// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

std::vector<Step> default_steps(Store& store, Authorizer&, Random random) {
  std::vector<Step> steps;
  steps.push_back(namespace_lifecycle(store));
  steps.push_back(service_account(store, random.fork("service-account")));
  steps.push_back(priority(store));
  steps.push_back(default_toleration_seconds());
  return steps;
}

}  // namespace berth::apiserver
