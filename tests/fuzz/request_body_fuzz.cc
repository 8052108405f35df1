// SPDX-License-Identifier: Apache-2.0
// What is wrong with a body is always said, in Go's words where Go would mind, too; and a body that
// is taken names its doubled fields or has none.
#include <string>

#include "apiserver/serve/go_text.h"
#include "apiserver/serve/strict.h"
#include "base/check.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Error ours{.reason = Reason::kBadRequest, .message = "ours"};
  json::Arena arena;
  const auto value = json::parse(input, arena);
  const std::string told = apiserver::go_json_error(input, ours);
  BERTH_CHECK(!told.empty());
  if (!value) return 0;
  BERTH_CHECK(told == "ours", told);
  const std::size_t members = apiserver::members_in(*value);
  for (const std::string& complaint : apiserver::complaints_about(input, members, {}))
    BERTH_CHECK(complaint.starts_with("duplicate field "), complaint);
  static_cast<void>(apiserver::go_plus_v(*value));
  static_cast<void>(apiserver::go_summary(input));
  return 0;
}
