// SPDX-License-Identifier: Apache-2.0
#include "controllers/job_tracking.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace berth::controllers {

bool job_tracked(const kube::Object& pod) {
  const std::vector<std::string> all = pod.finalizers();
  return std::find(all.begin(), all.end(), kJobTracking) != all.end();
}

std::string untrack_patch() {
  return fmt::format(R"({{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{}"]}}}})",
                     kJobTracking);
}

}  // namespace berth::controllers
