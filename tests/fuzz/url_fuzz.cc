// SPDX-License-Identifier: Apache-2.0
// URLs and percent coding: what is accepted can be written down again and means the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/http_client.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  BERTH_CHECK(berth::net::percent_decode(berth::net::percent_encode(text)) == text);
  if (const auto plain = berth::net::percent_decode(text))
    BERTH_CHECK(berth::net::percent_decode(berth::net::percent_encode(*plain)) == plain);

  const auto url = berth::net::parse_url(text);
  if (!url) {
    BERTH_CHECK(!url.error().message.empty());
    return 0;
  }
  const auto& origin = url->origin;
  BERTH_CHECK(!origin.host.empty() && origin.port != 0 && !url->prefix.ends_with('/'));
  const bool bracket = origin.host.find(':') != std::string::npos;
  const std::string again = std::string(origin.tls ? "https://" : "http://") +
                            (bracket ? "[" + origin.host + "]" : origin.host) + ":" +
                            std::to_string(origin.port) + url->prefix;
  const auto same = berth::net::parse_url(again);
  BERTH_CHECK(same && same->origin.tls == origin.tls && same->origin.host == origin.host &&
                  same->origin.port == origin.port && same->prefix == url->prefix,
              again);
  return 0;
}
