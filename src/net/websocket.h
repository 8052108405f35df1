// SPDX-License-Identifier: Apache-2.0
// WebSocket (RFC 6455), the server's side: whole messages in both directions over a connection that
// began as an HTTP request. Our own codec, because a library's would bring its own timers and
// executors, and then nothing above it could run in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/scope.h"
#include "net/http.h"

namespace berth::net {

struct WebSocketLimits {
  std::size_t message_bytes = 64 << 10;  // put together from its fragments
  // A peer that says nothing for so long is asked, and left when it says nothing again.
  Duration ping = std::chrono::seconds(30);
};

// Close codes.
inline constexpr std::uint16_t kCloseNormal = 1000, kCloseGoingAway = 1001,
                               kCloseProtocolError = 1002, kCloseBadText = 1007,
                               kClosePolicy = 1008, kCloseTooBig = 1009;

// Usable from any thread. Dropped, it says goodbye.
class WebSocket {
 public:
  struct Message {
    std::string bytes = {};
    bool text = true;
  };
  virtual ~WebSocket() = default;
  // The next message; one read at a time. Nothing is taken from the connection in between. Fails
  // once the peer has left, and says how.
  virtual void read(Done<Message>) = 0;
  // Fires when the message has left. Writes queue up; how many is the caller's to judge.
  virtual void write(Message, Done<Ok> taken) = 0;
  virtual void close(std::uint16_t code, std::string reason) = 0;  // after what is queued
};

// The headers of the answer that turns a request into a WebSocket; `protocol` is the one chosen of
// those offered, "": none. BadRequest, with code 426 for another version, for what is none.
Result<Headers> accept_websocket(const Headers& request, std::string_view protocol);

}  // namespace berth::net
