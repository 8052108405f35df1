// SPDX-License-Identifier: Apache-2.0
// Whatever a program reports of a checkpoint is either understood or refused with a reason, and
// never says anything of the future.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "gateway/scavenge/checkpoint_report.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const auto report = gateway::checkpoint_report(in);
  if (!report) {
    BERTH_CHECK(!report.error().message.empty());
    return 0;
  }
  const WallTime now{1'790'000'000'000'000'000};
  const std::string patch = gateway::checkpoint_patch(*report, now);
  BERTH_CHECK(json::check(patch).has_value(), patch);
  const json::Slice annotations = json::Slice(patch)["metadata"]["annotations"];
  const auto at = kube::parse_time(annotations[kube::kCheckpointAnnotation].text());
  BERTH_CHECK(at && *at <= now, patch);
  return 0;
}
