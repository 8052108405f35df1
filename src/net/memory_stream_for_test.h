// SPDX-License-Identifier: Apache-2.0
// A server's connection in memory, in virtual time: the test is the client.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/http_conversation.h"

namespace berth::net {

// The client's end.
struct MemoryPipe {
  std::string to_server = {}, from_server = {};
  bool client_ended = false, server_ended = false, server_gone = false;
  bool takes = true;  // false: what the server writes does not leave
  Fn<void(Stream::Bytes)> reading = {};
  Fn<void(Result<Ok>)> writing = {};
};

class MemoryStream final : public Stream {
 public:
  MemoryStream(Executor& loop, std::shared_ptr<MemoryPipe> pipe)
      : loop_(loop), pipe_(std::move(pipe)) {}
  ~MemoryStream() override {
    pipe_->server_gone = true;
    pipe_->reading = nullptr;
    pipe_->writing = nullptr;
  }
  void handshake(Fn<void(Result<Ok>)> done) override {
    loop_.post([done = std::move(done)]() mutable { done(Ok{}); });
  }
  void read(Fn<void(Bytes)> done) override {
    pipe_->reading = std::move(done);
    deliver(loop_, pipe_);
  }
  void write(std::vector<std::string_view> pieces, std::shared_ptr<const void>,
             Fn<void(Result<Ok>)> done) override {
    for (const std::string_view piece : pieces) pipe_->from_server += piece;
    pipe_->writing = std::move(done);
    taken(loop_, pipe_);
  }
  void end_writing() override { pipe_->server_ended = true; }
  std::string peer_address() const override { return "127.0.0.1:4000"; }

  static void deliver(Executor& loop, const std::shared_ptr<MemoryPipe>& pipe) {
    if (!pipe->reading || (pipe->to_server.empty() && !pipe->client_ended)) return;
    loop.post([pipe] {
      if (!pipe->reading || (pipe->to_server.empty() && !pipe->client_ended)) return;
      const std::string bytes = std::exchange(pipe->to_server, {});
      std::exchange(pipe->reading, nullptr)(std::string_view(bytes));
    });
  }
  static void taken(Executor& loop, const std::shared_ptr<MemoryPipe>& pipe) {
    if (!pipe->takes || !pipe->writing) return;
    loop.post([pipe] {
      if (pipe->writing) std::exchange(pipe->writing, nullptr)(Ok{});
    });
  }

 private:
  Executor& loop_;
  std::shared_ptr<MemoryPipe> pipe_;
};

// One connection of a server whose handler is the test's.
class MemoryConnection final : private ConversationHost {
 public:
  MemoryConnection(Executor& on, HttpHandler& handler, HttpServerOptions given = {})
      : ConversationHost(on, std::move(given)), handler_(handler) {
    ConversationHost& host = *this;
    conversation_ =
        std::make_shared<Conversation>(host, 1, std::make_unique<MemoryStream>(on, pipe));
    conversation_->start();
  }
  ~MemoryConnection() {
    if (conversation_) conversation_->close();
  }

  std::shared_ptr<MemoryPipe> pipe = std::make_shared<MemoryPipe>();

  void say(std::string_view bytes) {
    pipe->to_server += bytes;
    MemoryStream::deliver(loop, pipe);
  }
  void leave() {
    pipe->client_ended = true;
    MemoryStream::deliver(loop, pipe);
  }
  void take() {
    pipe->takes = true;
    MemoryStream::taken(loop, pipe);
  }
  void drain() { conversation_->drain(); }
  bool ended() const { return conversation_ == nullptr; }

 private:
  void requested(HttpRequest request, const HttpPeer& peer, HttpReply reply) override {
    handler_.handle(std::move(request), peer, std::move(reply));
  }
  void ended(std::uint64_t) override { conversation_.reset(); }
  bool draining() const override { return false; }

  HttpHandler& handler_;
  std::shared_ptr<Conversation> conversation_;
};

}  // namespace berth::net
