// SPDX-License-Identifier: Apache-2.0
// A time zone that is read tells offsets that lead there and back.
#include <string_view>

#include "base/check.h"
#include "kube/time_zone.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto zone =
      kube::TimeZone::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!zone) return 0;
  constexpr std::int64_t kYear = 31'556'952;
  for (std::int64_t at = -150 * kYear; at < 250 * kYear; at += 5 * kYear + 7) {
    const Duration ahead = zone->ahead_at({at * 1'000'000'000});
    BERTH_CHECK(ahead == zone->ahead_at({at * 1'000'000'000}));
    zone->from_local(at);
  }
  return 0;
}
