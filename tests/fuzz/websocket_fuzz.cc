// SPDX-License-Identifier: Apache-2.0
// A client's WebSocket bytes: any, cut at any place, give the same events and hold no more than the
// limit.
#include <string>
#include <vector>

#include "base/check.h"
#include "net/websocket_codec.h"

namespace {

constexpr std::size_t kMost = 1000;

std::vector<std::string> read(std::string_view bytes, std::size_t cut) {
  berth::net::WsDecoder decoder(kMost);
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, cut);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const auto event = decoder.step(piece);
      if (!event) {
        out.push_back(std::to_string(event.error().code) + event.error().message);
        return out;
      }
      if (!*event) continue;
      BERTH_CHECK((*event)->bytes.size() <= kMost, "a message is larger than the limit");
      out.push_back(std::to_string(static_cast<int>((*event)->type)) +
                    std::to_string((*event)->code) + (*event)->bytes);
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  BERTH_CHECK(read(bytes, bytes.size() + 1) == read(bytes, 1 + data[0] % 16),
              "the cut changes what is read");
  return 0;
}
