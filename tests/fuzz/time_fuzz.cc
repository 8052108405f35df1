// SPDX-License-Identifier: Apache-2.0
// Times and durations that are read print as text that reads back as the same.
#include <string>

#include "base/check.h"
#include "kube/time.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto time = kube::parse_time(input)) {
    const std::string micro = kube::micro_time_text(*time);
    const auto again = kube::parse_time(micro);
    BERTH_CHECK(again.has_value() && kube::micro_time_text(*again) == micro, micro);
    BERTH_CHECK(kube::time_text(*again) == kube::time_text(*time), micro);
  }
  if (const auto duration = kube::parse_duration(input)) {
    const std::string text = kube::duration_text(*duration);
    BERTH_CHECK(kube::parse_duration(text) == duration, text);
  }
  return 0;
}
