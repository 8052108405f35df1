// SPDX-License-Identifier: Apache-2.0
// No bytes are taken for a token but those that were signed here.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/auth/service_account_tokens.h"
#include "base/base64.h"
#include "base/check.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const apiserver::ServiceAccountTokens tokens("a key that no input knows");
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  tokens.issued_here(in);
  BERTH_CHECK(!tokens.read(in).has_value(), in);
  if (const auto bytes = from_base64url(in))
    BERTH_CHECK(from_base64url(base64url(*bytes)) == bytes);
  if (const auto bytes = from_base64(in)) BERTH_CHECK(from_base64(base64(*bytes)) == bytes);
  // What is signed comes back, whatever the names.
  const std::string text(in.substr(0, 200));
  const bool plain =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-.0123456789") == std::string::npos;
  if (!plain) return 0;
  const auto back = tokens.read(tokens.mint({.ns = text, .account = {text, text}, .id = text}));
  BERTH_CHECK(back && back->ns == text && back->account.uid == text && back->id == text);
  return 0;
}
