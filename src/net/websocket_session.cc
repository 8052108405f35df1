// SPDX-License-Identifier: Apache-2.0
#include "net/websocket_session.h"

#include <fmt/format.h>

#include "net/http_conversation.h"

namespace berth::net {
namespace {

class PostedSocket final : public WebSocket {
 public:
  PostedSocket(Executor& loop, std::shared_ptr<Conversation> conversation)
      : loop_(loop), conversation_(std::move(conversation)) {}
  ~PostedSocket() override {
    loop_.post([c = std::move(conversation_)] {
      if (WebSocketSession* session = c->socket()) session->close(kCloseGoingAway, "");
    });
  }
  void read(Done<Message> done) override {
    loop_.post([c = conversation_, done = std::move(done)]() mutable {
      if (WebSocketSession* session = c->socket()) session->read(std::move(done));
    });
  }
  void write(Message message, Done<Ok> taken) override {
    loop_.post([c = conversation_, m = std::move(message), taken = std::move(taken)]() mutable {
      if (WebSocketSession* session = c->socket()) session->write(std::move(m), std::move(taken));
    });
  }
  void close(std::uint16_t code, std::string reason) override {
    loop_.post([c = conversation_, code, reason = std::move(reason)] {
      if (WebSocketSession* session = c->socket()) session->close(code, reason);
    });
  }

 private:
  Executor& loop_;
  std::shared_ptr<Conversation> conversation_;
};

}  // namespace

std::shared_ptr<WebSocket> posted_socket(Executor& loop,
                                         std::shared_ptr<Conversation> conversation) {
  return std::make_shared<PostedSocket>(loop, std::move(conversation));
}

WebSocketSession::WebSocketSession(Executor& loop, WebSocketWire& wire, WebSocketLimits limits)
    : loop_(loop), wire_(wire), limits_(limits), decoder_(limits.message_bytes) {
  arm();
}

WebSocketSession::~WebSocketSession() {
  if (timer_ != TimerId::kNone) loop_.cancel(timer_);
}

Error WebSocketSession::ended() const {
  return {.reason = Reason::kUnreachable, .message = why_, .outcome = Outcome::kUnknown};
}

void WebSocketSession::arm() {
  timer_ = loop_.at(
      loop_.clock().now() + limits_.ping,
      [this] {
        timer_ = TimerId::kNone;
        if (std::exchange(heard_, false)) {
          asked_ = false;
        } else if (asked_) {
          why_ = "the peer does not answer";
          return wire_.cut();
        } else if (!closing_) {
          asked_ = true;
          wire_.send_frame({ws_head(WsType::kPing, 0)}, {}, false);
        }
        arm();
      },
      Timer::kBackground);
}

void WebSocketSession::on_bytes(std::string_view bytes) {
  heard_ = true;
  if (closing_) return wire_.read_on();  // until it ends, too
  rest_.append(bytes);
  advance();
}

void WebSocketSession::read(Done<WebSocket::Message> done) {
  if (over_ || closing_) return done(tl::unexpected(ended()));
  waiting_ = std::move(done);
  advance();
}

// Looks at what has arrived for as long as somebody waits for it.
void WebSocketSession::advance() {
  std::string_view in = rest_;
  while (waiting_ && !closing_ && !in.empty()) {
    auto event = decoder_.step(in);
    if (!event) {
      why_ = event.error().message;
      close(event.error().code, event.error().message);
      break;
    }
    if (*event) on_event(**std::move(event));
  }
  rest_.erase(0, rest_.size() - in.size());
  if (rest_.empty() && (waiting_ || closing_)) wire_.read_on();
}

void WebSocketSession::on_event(WsDecoder::Event event) {
  switch (event.type) {
    case WsType::kPing:
      wire_.send_frame({ws_head(WsType::kPong, event.bytes.size()), std::move(event.bytes)}, {},
                       false);
      return;
    case WsType::kPong:
    case WsType::kContinuation:
      return;
    case WsType::kClose:
      why_ = fmt::format("the peer has closed with {}", event.code);
      close(event.code == 1005 ? kCloseNormal : event.code, "");
      return;
    case WsType::kText:
    case WsType::kBinary:
      std::exchange(waiting_, {})(
          WebSocket::Message{.bytes = std::move(event.bytes), .text = event.type == WsType::kText});
  }
}

void WebSocketSession::write(WebSocket::Message message, Done<Ok> taken) {
  if (over_ || closing_) return taken(tl::unexpected(ended()));
  const WsType type = message.text ? WsType::kText : WsType::kBinary;
  std::vector<std::string> pieces{ws_head(type, message.bytes.size())};
  if (!message.bytes.empty()) pieces.push_back(std::move(message.bytes));
  wire_.send_frame(std::move(pieces), std::move(taken), false);
}

void WebSocketSession::close(std::uint16_t code, std::string_view reason) {
  if (over_ || std::exchange(closing_, true)) return;
  const std::string payload = ws_close_payload(code, reason);
  wire_.send_frame({ws_head(WsType::kClose, payload.size()), payload}, {}, true);
  std::exchange(waiting_, {})(tl::unexpected(ended()));
}

void WebSocketSession::gone() {
  if (std::exchange(over_, true)) return;
  std::exchange(waiting_, {})(tl::unexpected(ended()));
}

}  // namespace berth::net
