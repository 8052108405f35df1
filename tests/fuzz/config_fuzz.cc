// SPDX-License-Identifier: Apache-2.0
// A scheduler's configuration is refused with lines that can be printed, or written out and read
// again to the same plugins.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "scheduler/config/config.h"
#include "scheduler/config/test_registry.h"

namespace {

using namespace berth;

void check_line(const std::string& line) {
  BERTH_CHECK(!line.empty(), "an error without a message");
  for (const char c : line) BERTH_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = scheduler::read_config(text, scheduler::kTestRegistry, "f");
  if (!config) {
    check_line(config.error().message);
    for (const Cause& cause : config.error().causes) check_line(cause.message);
    return 0;
  }
  for (const std::string& warning : config->warnings) check_line(warning);
  for (const scheduler::ProfileConfig& profile : config->profiles) {
    BERTH_CHECK(profile.spec.at(scheduler::Point::kQueueSort).size() == 1, "no order");
    BERTH_CHECK(!profile.spec.at(scheduler::Point::kBind).empty(), "no binder");
  }
  for (const scheduler::ExtenderConfig& extender : config->extenders)
    if (!extender.tls.key_data.empty()) return 0;  // not written, so it cannot be read again
  const std::string written = scheduler::write_config(*config);
  const auto again = scheduler::read_config(written, scheduler::kTestRegistry, "g");
  BERTH_CHECK(again.has_value(), written);
  for (std::size_t i = 0; i < config->profiles.size(); ++i)
    BERTH_CHECK(config->profiles[i].spec.points == again->profiles[i].spec.points, written);
  return 0;
}
