// SPDX-License-Identifier: Apache-2.0
// Traces of pods: whatever the file says, it is read or refused, and what was read can be cut.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "simulate/workload/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto trace = simulate::read_trace(text, "trace");
  if (!trace) return 0;
  Duration last{};
  for (const simulate::TracePod& pod : trace->pods) {
    BERTH_CHECK(pod.arrives >= last && pod.runs > Duration{} && pod.cpu_milli >= 0, "sorted");
    last = pod.arrives;
  }
  for (const simulate::TracePod& pod : simulate::cut(*trace, 1h, 2h).pods)
    BERTH_CHECK(pod.arrives < 2h && pod.runs > Duration{}, "within");
  return 0;
}
