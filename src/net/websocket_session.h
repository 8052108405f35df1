// SPDX-License-Identifier: Apache-2.0
// A connection after it has become a WebSocket: messages, pings, and the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "net/websocket.h"
#include "net/websocket_codec.h"

namespace berth::net {

// What a session needs of its connection.
class WebSocketWire {
 public:
  // `last`: the connection ends once these have left.
  virtual void send_frame(std::vector<std::string> pieces, Done<Ok> taken, bool last) = 0;
  virtual void read_on() = 0;
  virtual void cut() = 0;  // ends the connection at once; destroys nothing before it returns

 protected:
  ~WebSocketWire() = default;
};

// Loop-confined. Owned by its connection.
class WebSocketSession {
 public:
  WebSocketSession(Executor& loop, WebSocketWire& wire, WebSocketLimits limits);
  ~WebSocketSession();

  void on_bytes(std::string_view);
  void gone();  // the connection has ended

  void read(Done<WebSocket::Message>);
  void write(WebSocket::Message, Done<Ok> taken);
  void close(std::uint16_t code, std::string_view reason);

 private:
  void advance();
  void on_event(WsDecoder::Event);
  void arm();
  Error ended() const;

  Executor& loop_;
  WebSocketWire& wire_;
  WebSocketLimits limits_;
  WsDecoder decoder_;
  std::string rest_;  // arrived, and not looked at
  Done<WebSocket::Message> waiting_;
  bool closing_ = false;  // a close was sent: nothing else follows
  bool over_ = false;
  std::string why_ = "the peer has left";
  bool heard_ = true;
  bool asked_ = false;
  TimerId timer_ = TimerId::kNone;
};

// The handle that a handler holds. Thread-safe.
class Conversation;
std::shared_ptr<WebSocket> posted_socket(Executor& loop, std::shared_ptr<Conversation>);

}  // namespace berth::net
