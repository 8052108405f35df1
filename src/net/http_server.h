// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server: keep-alive, chunked streaming with back-pressure, gzip on request, TLS with
// optional client certificates, limits on everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "base/scope.h"
#include "net/http.h"
#include "net/tls.h"
#include "net/websocket.h"

namespace berth::net {

enum class Gzip : unsigned char {
  kNever,
  kIfLarge,  // when the peer accepts it and the body has HttpServerOptions::gzip_from bytes
};

// The answer to one request; exactly one of send(), begin() and upgrade() is called. Movable,
// usable from any thread. Dropped unanswered, the peer gets a 500; dropped between begin() and
// end(), the peer sees the connection break, so that half a body is not taken for a whole one.
class HttpReply {
 public:
  class Impl {
   public:
    virtual ~Impl() = default;
    virtual void send(HttpResponse, Gzip) = 0;
    virtual void begin(int status, Headers) = 0;
    virtual void write(std::string, Done<Ok>) = 0;
    virtual void end() = 0;
    virtual void upgrade(Headers, WebSocketLimits, Done<std::shared_ptr<WebSocket>>) = 0;
    virtual bool gone() const = 0;
    virtual void when_gone(Done<Ok>) = 0;
  };
  explicit HttpReply(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  void send(HttpResponse response, Gzip gzip = Gzip::kNever) {
    impl_->send(std::move(response), gzip);
  }
  void begin(int status, Headers headers) { impl_->begin(status, std::move(headers)); }  // chunked
  void write(std::string bytes, Done<Ok> taken) {
    impl_->write(std::move(bytes), std::move(taken));
  }  // fires when the bytes left; fails when the peer is gone
  void end() { impl_->end(); }
  // Instead of send() and begin(): with what accept_websocket() gave. Fails when the peer is gone.
  void upgrade(Headers headers, WebSocketLimits limits, Done<std::shared_ptr<WebSocket>> open) {
    impl_->upgrade(std::move(headers), limits, std::move(open));
  }
  bool gone() const { return impl_->gone(); }
  // Fires when the peer leaves before the answer is complete; Cancelled when it got all of it.
  void when_gone(Done<Ok> left) { impl_->when_gone(std::move(left)); }

 private:
  std::shared_ptr<Impl> impl_;
};

struct HttpPeer {
  std::string address = {};                   // "127.0.0.1:51234"
  std::optional<PeerIdentity> identity = {};  // from a verified client certificate
  // With request_client_certificate: what was shown, as PEM; for verify_client.
  std::string certificates = {};
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void handle(HttpRequest, const HttpPeer&, HttpReply) = 0;  // on the server's loop
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  std::optional<TlsServerOptions> tls = {};
  HttpLimits limits = {};
  std::size_t gzip_from = 128 << 10;
  // How a request is refused that never reaches the handler; none: the message as plain text.
  std::function<HttpResponse(int status, std::string_view message)> refusal = {};
};

class HttpServer {
 public:
  // From any thread; listening when it returns. `handler` outlives the server.
  static Result<std::unique_ptr<HttpServer>> start(Executor& loop, HttpServerOptions,
                                                   HttpHandler& handler);
  // Closes every connection. Waits for the loop, unless called on it: afterwards the handler is not
  // called any more.
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  virtual void drain(Done<Ok>) = 0;  // stop accepting, finish requests in progress
  // Of a server with TLS, from any thread: connections that come from now on see these. Those that
  // are open go on with what they began with. An error leaves everything as it was.
  virtual Result<Ok> use(const TlsServerOptions&) = 0;
};

}  // namespace berth::net
