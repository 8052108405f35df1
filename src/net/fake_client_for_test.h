// SPDX-License-Identifier: Apache-2.0
// A connection without a socket, for tests of what answers requests: whatever is sent is kept.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_server.h"

namespace berth::net {

// The client's end of a WebSocket.
struct FakeSocket {
  std::vector<WebSocket::Message> received = {};  // by the client
  std::deque<WebSocket::Message> unread = {};     // by the server
  Done<WebSocket::Message> waiting = {};
  std::vector<Done<Ok>> untaken = {};
  WebSocketLimits limits = {};
  bool reads = true;  // false: what is written stays in the connection
  std::uint16_t closed = 0;
  std::string reason = {};
  bool gone = false;

  void say(std::string text) {
    unread.push_back({.bytes = std::move(text)});
    deliver();
  }
  void deliver() {
    if (!waiting || unread.empty()) return;
    WebSocket::Message next = std::move(unread.front());
    unread.pop_front();
    std::exchange(waiting, {})(std::move(next));
  }
  void leave() {
    gone = true;
    std::exchange(waiting, {})(fail(Reason::kUnreachable, "the peer has left"));
    for (Done<Ok>& taken : std::exchange(untaken, {})) taken(fail(Reason::kUnreachable, "gone"));
  }
  void read_all() {
    reads = true;
    for (Done<Ok>& taken : std::exchange(untaken, {})) taken(Ok{});
  }
  std::string text() const {
    std::string all;
    for (const WebSocket::Message& one : received) all += one.bytes;
    return all;
  }
};

// The client's end of one connection.
struct FakeClient {
  std::optional<HttpResponse> sent = {};  // all at once
  bool compressible = false;
  std::optional<int> begun = {};  // or in pieces
  Headers headers = {};
  std::vector<std::string> pieces = {};
  bool ended = false;
  bool abandoned = false;  // the reply was dropped
  bool reads = true;       // false: what is written stays in the connection
  bool gone = false;
  std::vector<Done<Ok>> unread = {};
  std::vector<Done<Ok>> when_gone = {};
  std::shared_ptr<FakeSocket> socket = {};  // once it has become one

  // Everything so far.
  std::string body() const {
    if (sent) return sent->body;
    std::string out;
    for (const std::string& piece : pieces) out += piece;
    return out;
  }
  int status() const { return sent ? sent->status : begun.value_or(0); }
  std::string header(std::string_view name) const { return std::string(headers.get(name)); }
  // Takes what is written, once.
  void read_one() {
    for (Done<Ok>& taken : std::exchange(unread, {})) taken(Ok{});
  }
  void leave() {
    gone = true;
    for (Done<Ok>& left : std::exchange(when_gone, {})) left(Ok{});
    for (Done<Ok>& taken : std::exchange(unread, {})) taken(fail(Reason::kUnreachable, "gone"));
  }
};

class FakeServerSocket final : public WebSocket {
 public:
  explicit FakeServerSocket(std::shared_ptr<FakeSocket> peer) : peer_(std::move(peer)) {}
  ~FakeServerSocket() override { end(kCloseGoingAway, ""); }
  void read(Done<Message> done) override {
    if (peer_->gone || peer_->closed != 0) return done(fail(Reason::kUnreachable, "gone"));
    peer_->waiting = std::move(done);
    peer_->deliver();
  }
  void write(Message message, Done<Ok> taken) override {
    if (peer_->gone || peer_->closed != 0) return taken(fail(Reason::kUnreachable, "gone"));
    peer_->received.push_back(std::move(message));
    if (peer_->reads) return taken(Ok{});
    peer_->untaken.push_back(std::move(taken));
  }
  void close(std::uint16_t code, std::string reason) override { end(code, std::move(reason)); }

 private:
  void end(std::uint16_t code, std::string reason) {
    if (peer_->gone || peer_->closed != 0) return;
    peer_->closed = code;
    peer_->reason = std::move(reason);
    std::exchange(peer_->waiting, {})(fail(Reason::kUnreachable, "closed"));
  }
  std::shared_ptr<FakeSocket> peer_;
};

class FakeReply final : public HttpReply::Impl {
 public:
  explicit FakeReply(std::shared_ptr<FakeClient> client) : client_(std::move(client)) {}
  ~FakeReply() override {
    if (!client_->sent && !client_->ended) client_->abandoned = true;
  }
  void send(HttpResponse response, Gzip gzip) override {
    client_->headers = response.headers;
    client_->sent = std::move(response);
    client_->compressible = gzip == Gzip::kIfLarge;
    client_->when_gone.clear();
  }
  void begin(int status, Headers headers) override {
    client_->begun = status;
    client_->headers = std::move(headers);
  }
  void write(std::string bytes, Done<Ok> taken) override {
    if (client_->gone) return taken(fail(Reason::kUnreachable, "gone"));
    client_->pieces.push_back(std::move(bytes));
    if (client_->reads) return taken(Ok{});
    client_->unread.push_back(std::move(taken));
  }
  void end() override {
    client_->ended = true;
    client_->when_gone.clear();
  }
  void upgrade(Headers headers, WebSocketLimits limits,
               Done<std::shared_ptr<WebSocket>> open) override {
    client_->begun = 101;
    client_->headers = std::move(headers);
    client_->socket = std::make_shared<FakeSocket>();
    client_->socket->limits = limits;
    client_->ended = true;
    open(std::make_shared<FakeServerSocket>(client_->socket));
  }
  bool gone() const override { return client_->gone; }
  void when_gone(Done<Ok> left) override {
    if (client_->gone) return left(Ok{});
    client_->when_gone.push_back(std::move(left));
  }

 private:
  std::shared_ptr<FakeClient> client_;
};

}  // namespace berth::net
