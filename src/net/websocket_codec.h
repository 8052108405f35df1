// SPDX-License-Identifier: Apache-2.0
// WebSocket messages from a client's bytes, and the heads of a server's frames. Pure; what comes
// out does not depend on how the bytes were cut.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace berth::net {

enum class WsType : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10
};

// Why a connection cannot go on.
struct WsFault {
  std::uint16_t code = 1002;  // to close it with
  std::string message = {};
};

// Thread-compatible.
class WsDecoder {
 public:
  struct Event {
    WsType type = WsType::kText;  // a whole message, or a control frame
    std::string bytes = {};       // of a close: the reason
    std::uint16_t code = 0;       // of a close; 1005: it said none
  };
  explicit WsDecoder(std::size_t most_bytes) : most_(most_bytes) {}

  // Takes from the front of `in` until an event is complete; nothing: all was taken.
  tl::expected<std::optional<Event>, WsFault> step(std::string_view& in);

 private:
  tl::expected<bool, WsFault> head(std::string_view& in);
  tl::expected<std::optional<Event>, WsFault> frame_done();

  std::size_t most_;
  std::string head_;  // of the frame that is being read, as far as it is there
  bool in_payload_ = false;
  bool fin_ = false;
  WsType type_ = WsType::kText;
  std::uint64_t length_ = 0, taken_ = 0;
  std::array<unsigned char, 4> mask_{};
  std::string payload_;  // of a control frame
  std::string message_;  // its fragments so far
  std::optional<WsType> message_type_;
};

// Of a server's frame: never masked, never in fragments.
std::string ws_head(WsType, std::size_t length);
std::string ws_close_payload(std::uint16_t code, std::string_view reason);
bool is_utf8(std::string_view);

}  // namespace berth::net
