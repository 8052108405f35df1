// SPDX-License-Identifier: Apache-2.0
// A pod on the first line, a strategic merge patch after it.
#include "base/check.h"
#include "json/cursor.h"
#include "json/patch.h"
#include "kube/schema.h"
#include "two_parts.h"

using namespace berth::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [original, patch] = two_parts(data, size);
  const Message& pod = *berth::kube::find_message("io.k8s.api.core.v1.Pod");
  const auto result = strategic_merge_patch(original, patch, pod);
  if (!result) {
    BERTH_CHECK(!result.error().message.empty());
    return 0;
  }
  BERTH_CHECK(check(*result).has_value());
  BERTH_CHECK(strategic_merge_patch(*result, "{}", pod) == *result);
  return 0;
}
