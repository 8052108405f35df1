// SPDX-License-Identifier: Apache-2.0
// A continue token that is taken reads back as the same place, which is never above the list.
#include <string>

#include "apiserver/store/continue_token.h"
#include "base/check.h"

using berth::apiserver::ContinueToken;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto token = ContinueToken::parse(input);
  if (!token) return 0;
  BERTH_CHECK(token->revision != 0 && !token->start.empty());
  BERTH_CHECK(("/" + token->start + "/").find("/../") == std::string::npos);
  const auto again = ContinueToken::parse(token->text());
  BERTH_CHECK(again.has_value(), token->text());
  BERTH_CHECK(again->revision == token->revision && again->start == token->start);
  return 0;
}
