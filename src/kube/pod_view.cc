// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_view.h"

namespace berth::kube {

json::Slice find_condition(json::Slice status, std::string_view type) {
  for (const json::Slice condition : status["conditions"].elements())
    if (condition["type"].equals(type)) return condition;
  return {};
}

}  // namespace berth::kube
