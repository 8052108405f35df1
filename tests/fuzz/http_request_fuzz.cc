// SPDX-License-Identifier: Apache-2.0
// What a server makes of any bytes: no crash, bounded output, and the same whatever the cuts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/http_codec.h"

namespace {

using berth::net::HttpDecoder;

struct Seen {
  std::vector<std::string> requests;
  int refused = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

berth::net::HttpLimits limits() {
  berth::net::HttpLimits small;
  small.header_bytes = 2000;
  small.header_count = 20;
  small.target_bytes = 500;
  small.request_body_bytes = 5000;
  return small;
}

Seen decode(std::string_view text, std::size_t cut) {
  Seen seen;
  const auto bounds = limits();
  HttpDecoder decoder(berth::net::HttpSide::kRequest, bounds, bounds.request_body_bytes);
  std::string body;
  for (std::size_t at = 0; at < text.size(); at += cut) {
    std::string_view in = text.substr(at, cut);
    while (!in.empty()) {
      const auto step = decoder.step(in, body);
      BERTH_CHECK(body.size() <= bounds.request_body_bytes);
      if (!step) {
        seen.refused = step.error().status;
        return seen;
      }
      if (*step != HttpDecoder::Step::kEnd) continue;
      auto& head = decoder.head();
      std::string all = head.method + " " + head.target + (head.keep_alive ? " +" : " -");
      for (const auto& [name, value] : head.headers.items()) all += "\n" + name + ":" + value;
      seen.requests.push_back(all + "\n\n" + body);
      body.clear();
      decoder = HttpDecoder(berth::net::HttpSide::kRequest, bounds, bounds.request_body_bytes);
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Seen whole = decode(text, size + 1);
  for (const std::size_t cut : {1u, 3u, 64u}) BERTH_CHECK(decode(text, cut) == whole, text);
  return 0;
}
