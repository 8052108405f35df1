// SPDX-License-Identifier: Apache-2.0
// A scheduling problem, however odd: it is refused with a reason, or answered in good JSON, and the
// node that is chosen fits.
#include <string>

#include "base/check.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "scheduler/explain/answer.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const scheduler::Answerer answerer;
  const Result<std::string> answer =
      answerer.answer(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!answer) {
    BERTH_CHECK(!answer.error().message.empty());
    return 0;
  }
  BERTH_CHECK(json::check(*answer).has_value(), *answer);
  const json::Slice said{std::string_view(*answer)};
  if (const std::string chosen = said["chosen"].text(); !chosen.empty())
    BERTH_CHECK(said["filter"][chosen]["fits"].boolean(), *answer);
  return 0;
}
