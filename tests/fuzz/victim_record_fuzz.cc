// SPDX-License-Identifier: Apache-2.0
// Whatever stands in the annotation: a record that is read can be written, and is then read as the
// same; it also makes a sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/scavenge/victim_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::scavenge;
  const auto read = parse_victim_record({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  BERTH_CHECK(!victim_text(*read).empty(), "no sentence");
  const std::string written = victim_record_json(*read);
  const auto again = parse_victim_record(written);
  BERTH_CHECK(again.has_value(), written);
  BERTH_CHECK(victim_record_json(*again) == written, written);
  return 0;
}
