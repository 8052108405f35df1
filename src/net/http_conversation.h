// SPDX-License-Identifier: Apache-2.0
// One connection of a server: requests in, replies out, one at a time.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/http_codec.h"
#include "net/http_server.h"
#include "net/stream.h"
#include "net/websocket_session.h"

namespace berth::net {

// What a conversation needs of its server. Loop-confined.
class ConversationHost {
 public:
  virtual void requested(HttpRequest, const HttpPeer&, HttpReply) = 0;
  virtual void ended(std::uint64_t id) = 0;  // may destroy the conversation
  virtual bool draining() const = 0;

  Executor& loop;
  const HttpServerOptions options;

 protected:
  ConversationHost(Executor& on, HttpServerOptions o) : loop(on), options(std::move(o)) {}
  ~ConversationHost() = default;
};

// Loop-confined, except gone(). Replies hold it by shared_ptr and reach it through posted tasks; it
// is inert once closed, and then does not touch its host.
class Conversation final : public std::enable_shared_from_this<Conversation>,
                           private WebSocketWire {
 public:
  Conversation(ConversationHost&, std::uint64_t id, std::unique_ptr<Stream>);

  void start();
  void turn_away();  // one connection too many
  void drain();      // ends after the request in progress, now if there is none
  void close();

  // For the reply to request number `request`; ignored when that is over.
  void send(std::uint64_t request, HttpResponse, Gzip);
  void begin(std::uint64_t request, int status, Headers);
  void write(std::uint64_t request, std::string, Done<Ok> taken);
  void end(std::uint64_t request);
  void upgrade(std::uint64_t request, Headers, WebSocketLimits, Done<std::shared_ptr<WebSocket>>);
  void abandon(std::uint64_t request);
  void when_gone(std::uint64_t request, Done<Ok>);
  bool gone() const { return gone_; }
  WebSocketSession* socket() { return socket_.get(); }  // null: it has not become one

 private:
  enum class State : unsigned char {
    kHandshake,
    kReading,    // waits for a request or is in the middle of one
    kHandling,   // the handler has it
    kStreaming,  // between begin() and end()
    kUpgraded,   // a WebSocket has it
    kEnding,     // the last bytes of a reply are leaving
    kLingering,  // has said everything, lets the peer finish
    kClosed,
  };
  // Bytes to be written; a large body goes slice by slice, compressed on the way if asked for.
  struct Outgoing {
    std::vector<std::string> pieces;
    std::size_t piece = 0;
    std::size_t offset = 0;
    std::unique_ptr<Compressor> compressor;
    std::string source;
    std::size_t compressed = 0;
    Done<Ok> taken;
    bool ends_reply = false;
  };

  void next_request();
  void read();
  void on_bytes(Stream::Bytes);
  void feed(std::string_view);
  void on_head();
  void dispatch(std::string_view ahead);
  void refuse(const HttpFault&);
  void refuse(int status, std::string_view message);

  bool is_current(std::uint64_t request) const;
  std::string reply_head(int status, Headers, bool chunked);
  bool body_forbidden(int status) const;
  void enqueue(Outgoing);
  void pump();
  bool refill(Outgoing&) const;
  void on_written(const Result<Ok>&);
  void reply_done();
  void linger();
  void peer_left();
  void set_timer(Duration, void (Conversation::*)());
  void stop_timer();
  void out_of_time();

  void send_frame(std::vector<std::string> pieces, Done<Ok> taken, bool last) override;
  void read_on() override;
  void cut() override;

  ConversationHost* host_;  // null once closed
  Executor& loop_;
  const std::uint64_t id_;
  std::unique_ptr<Stream> stream_;
  HttpPeer peer_;
  State state_ = State::kHandshake;
  std::atomic<bool> gone_ = false;

  HttpDecoder decoder_;
  std::string body_;
  std::string ahead_;  // arrived before its turn
  bool reading_ = false;
  bool head_seen_ = false;
  std::size_t lingered_ = 0;

  std::uint64_t request_ = 0;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool chunked_ = false;  // the peer understands it
  bool gzip_ = false;

  std::unique_ptr<WebSocketSession> socket_;
  std::deque<std::shared_ptr<Outgoing>> out_;
  bool writing_ = false;
  std::vector<Done<Ok>> gone_watchers_;
  TimerId timer_ = TimerId::kNone;
  TimerId write_timer_ = TimerId::kNone;
};

}  // namespace berth::net
