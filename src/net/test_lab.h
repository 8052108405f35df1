// SPDX-License-Identifier: Apache-2.0
// The vocabulary of net/'s tests: waiting for a Done, and peers that do exactly what a test tells
// them, over real sockets.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/scope.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/tls.h"

namespace berth::net {

class TestHandler final : public HttpHandler {
 public:
  using Handle = std::function<void(HttpRequest, const HttpPeer&, HttpReply)>;
  explicit TestHandler(Handle f) : handle_(std::move(f)) {}
  void handle(HttpRequest request, const HttpPeer& peer, HttpReply reply) override {
    handle_(std::move(request), peer, std::move(reply));
  }

 private:
  Handle handle_;
};

struct TestServer {
  std::unique_ptr<TestHandler> handler;
  std::unique_ptr<HttpServer> server;
  std::uint16_t port() const { return server->port(); }
};

// An authority, a server "server" for localhost and 127.0.0.1, a client "alice" of two groups.
struct TestCertificates {
  TestCertificates();
  KeyPair authority, server, client;
};

// Two loops: one for sockets, one as the home of the test's callbacks.
class TestLab {
 public:
  TestLab();
  ~TestLab();

  RealRuntime runtime;
  Executor& io = runtime.loop("io");
  Executor& home = runtime.loop("home");

  // Hands a Done to `begin`, at home, and gives what it is fired with. `begin` has run when this
  // returns.
  template <class T>
  std::future<Result<T>> ask(std::function<void(Done<T>)> begin) {
    auto answer = std::make_shared<std::promise<Result<T>>>();
    std::promise<void> begun;
    home.post([&] {
      begin(scope_->done<T>(kNoLimit,
                            [answer](Result<T> result) { answer->set_value(std::move(result)); }));
      begun.set_value();
    });
    begun.get_future().wait();
    return answer->get_future();
  }
  std::future<Result<HttpResponse>> call(HttpClient&, HttpRequest, Duration limit = 60s);
  std::future<Result<std::unique_ptr<HttpStream>>> open(HttpClient&, HttpRequest,
                                                        Duration limit = 60s);
  std::future<Result<HttpStream::Chunk>> read(HttpStream&);
  Result<std::string> read_all(HttpStream&);

  Scope& scope() { return *scope_; }  // at home
  void on_io(std::function<void()>);  // runs it there and waits

  std::unique_ptr<HttpClient> client(std::uint16_t port, HttpClientOptions = {});  // plain HTTP
  TestServer serve(TestHandler::Handle, HttpServerOptions = {});

 private:
  std::unique_ptr<Scope> scope_;
};

// A blocking socket. Reads end with a failed test after a minute.
class RawSocket {
 public:
  explicit RawSocket(int fd);
  static RawSocket to(std::uint16_t port);
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawSocket();

  void send(std::string_view);                   // false alarms of a peer that left are ignored
  std::string read_until(std::string_view end);  // up to and with `end`; less when the peer leaves
  std::string read_all();                        // until the peer leaves
  void end_writing();
  void reset();  // leaves so that the peer sees a reset

 private:
  int fd_;
  std::string rest_;
};

// Serves scripts, one connection after the other; the last one is repeated.
class ScriptedPeer {
 public:
  using Script = std::function<void(RawSocket&)>;
  explicit ScriptedPeer(std::vector<Script>);
  ~ScriptedPeer();
  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

  // Reads one request's head and answers.
  static Script answer(std::string text);

 private:
  int fd_;
  std::uint16_t port_;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace berth::net
