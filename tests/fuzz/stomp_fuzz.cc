// SPDX-License-Identifier: Apache-2.0
// STOMP frames: any bytes, cut at any place, give the same frames, and those read back the same.
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "gateway/stomp.h"

namespace {

struct Outcome {
  std::vector<std::string> frames;
  bool good = true;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, std::size_t cut) {
  berth::gateway::StompDecoder decoder{berth::gateway::Limits{}};
  Outcome out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, cut);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      auto frame = decoder.step(piece);
      if (!frame) {
        out.good = false;
        return out;
      }
      if (*frame) out.frames.push_back(encode(**frame));
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, bytes.size() + 1);
  BERTH_CHECK(whole == read(bytes, 1 + data[0] % 16), "the cut changes what is read");
  return 0;
}
