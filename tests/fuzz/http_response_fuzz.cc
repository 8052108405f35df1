// SPDX-License-Identifier: Apache-2.0
// What a client makes of any bytes, compressed or not: no crash, bounded output, and the same
// whatever the cuts.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/http_codec.h"

namespace {

using berth::net::ResponseDecoder;

constexpr std::size_t kBodyLimit = 100'000;

// An input that begins with "H?" is the answer to a HEAD request.
std::string decode(std::string_view text, bool head_request, std::size_t cut) {
  berth::net::HttpLimits limits;
  limits.header_bytes = 2000;
  limits.header_count = 20;
  ResponseDecoder decoder(limits, kBodyLimit, head_request);
  std::string body;
  const auto describe = [&](std::string_view rest) {
    auto& head = decoder.head();
    std::string all = std::to_string(head.status) + (head.keep_alive ? "+" : "-");
    for (const auto& [name, value] : head.headers.items()) all += "\n" + name + ":" + value;
    return all + "\n\n" + body + "\n\n" + std::string(rest);
  };
  for (std::size_t at = 0; at < text.size(); at += cut) {
    std::string_view in = text.substr(at, cut);
    while (!in.empty()) {
      const auto step = decoder.step(in, body);
      BERTH_CHECK(body.size() <= kBodyLimit);
      if (!step) return "refused";
      if (*step == ResponseDecoder::Step::kEnd)
        return describe(std::string(in) +
                        std::string(text.substr(std::min(at + cut, text.size()))));
    }
  }
  const auto step = decoder.end_of_input();
  return step ? describe("") : "refused";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool head_request = data[0] == 'H' && size > 1 && data[1] == '?';
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (head_request) text.remove_prefix(2);
  const std::string whole = decode(text, head_request, text.size() + 1);
  for (const std::size_t cut : {1u, 3u, 64u}) BERTH_CHECK(decode(text, head_request, cut) == whole);
  return 0;
}
