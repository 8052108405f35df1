// SPDX-License-Identifier: Apache-2.0
// Whatever an extender answers: it is read or refused, within its own bytes, and cutting it at the
// end of its first value changes nothing.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "scheduler/extender/extender_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::scheduler;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ExtenderArgs asked{.names = std::make_shared<const std::vector<std::string>>(
                               std::vector<std::string>{"n1", "n2"})};
  ValueEnd end;
  const bool ends = end.feed(text) == ValueEnd::Found::kEnd;
  if (ends) BERTH_CHECK(end.length() <= text.size(), "the value ends behind the text");
  const std::string_view cut = ends ? text.substr(0, end.length()) : text;

  for (const bool names_only : {false, true}) {
    const auto read = read_filter_reply(text, asked, names_only, "http://e");
    const auto again = read_filter_reply(cut, asked, names_only, "http://e");
    BERTH_CHECK(read.has_value() == again.has_value(), "what follows the value mattered");
    if (read) BERTH_CHECK(read->kept.size() == again->kept.size(), "what follows mattered");
  }
  const auto scores = read_prioritize_reply(text);
  BERTH_CHECK(scores.has_value() == read_prioritize_reply(cut).has_value(),
              "what follows mattered");
  if (const auto victims = read_preempt_reply(text)) {
    const std::string written = extender_request(ExtenderPreemptArgs{.victims = *victims}, true);
    const auto again = read_preempt_reply(written);
    BERTH_CHECK(again && again->size() == victims->size(), written);
  }
  static_cast<void>(read_bind_reply(text));
  return 0;
}
