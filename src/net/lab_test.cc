// SPDX-License-Identifier: Apache-2.0
// The parts of the tests' vocabulary that touch sockets.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "net/test_lab.h"

namespace berth::net {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

TestLab::TestLab() {
  std::promise<void> made;
  home.post([&] {
    scope_ = std::make_unique<Scope>(home, "test");
    made.set_value();
  });
  made.get_future().wait();
}

TestLab::~TestLab() {
  std::promise<void> closed;
  home.post([&] { scope_->close(0s, [&] { closed.set_value(); }); });
  closed.get_future().wait();
  std::promise<void> gone;
  home.post([&] {
    scope_.reset();
    gone.set_value();
  });
  gone.get_future().wait();
}

std::future<Result<HttpResponse>> TestLab::call(HttpClient& client, HttpRequest request,
                                                Duration limit) {
  const Instant deadline = io.clock().now() + limit;
  return ask<HttpResponse>([&client, request, deadline](Done<HttpResponse> done) {
    client.call(request, deadline, std::move(done));
  });
}

std::future<Result<std::unique_ptr<HttpStream>>> TestLab::open(HttpClient& client,
                                                               HttpRequest request,
                                                               Duration limit) {
  const Instant deadline = io.clock().now() + limit;
  return ask<std::unique_ptr<HttpStream>>(
      [&client, request, deadline](Done<std::unique_ptr<HttpStream>> done) {
        client.open(request, deadline, std::move(done));
      });
}

std::future<Result<HttpStream::Chunk>> TestLab::read(HttpStream& stream) {
  return ask<HttpStream::Chunk>(
      [&stream](Done<HttpStream::Chunk> done) { stream.read(std::move(done)); });
}

Result<std::string> TestLab::read_all(HttpStream& stream) {
  std::string all;
  for (;;) {
    auto chunk = read(stream).get();
    if (!chunk) return tl::unexpected(std::move(chunk.error()));
    all += chunk->bytes;
    if (chunk->end) return all;
  }
}

void TestLab::on_io(std::function<void()> f) {
  std::promise<void> ran;
  io.post([&] {
    f();
    ran.set_value();
  });
  ran.get_future().wait();
}

std::unique_ptr<HttpClient> TestLab::client(std::uint16_t port, HttpClientOptions options) {
  options.origin = {.tls = false, .host = "127.0.0.1", .port = port};
  return HttpClient::create(io, std::move(options)).value();
}

TestServer TestLab::serve(TestHandler::Handle handle, HttpServerOptions options) {
  TestServer made;
  made.handler = std::make_unique<TestHandler>(std::move(handle));
  made.server = HttpServer::start(io, std::move(options), *made.handler).value();
  return made;
}

TestCertificates::TestCertificates()
    : authority(make_authority("test-ca").value()),
      server(issue_certificate(authority, {.common_name = "server",
                                           .dns_names = {"localhost"},
                                           .ip_addresses = {"127.0.0.1", "::1"}})
                 .value()),
      client(issue_certificate(authority,
                               {.common_name = "alice", .organizations = {"system:masters", "ops"}})
                 .value()) {}

RawSocket::RawSocket(int fd) : fd_(fd) {
  const timeval limit{60, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

RawSocket RawSocket::to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const int connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  BERTH_CHECK(connected == 0, "cannot connect");
  return RawSocket(fd);
}

RawSocket::~RawSocket() {
  if (fd_ >= 0) close(fd_);
}

void RawSocket::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string RawSocket::read_until(std::string_view end) {
  for (;;) {
    const std::size_t found = end.empty() ? std::string::npos : rest_.find(end);
    if (found != std::string::npos) {
      std::string out = rest_.substr(0, found + end.size());
      rest_.erase(0, found + end.size());
      return out;
    }
    char buffer[65536];
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ADD_FAILURE() << "nothing came";
    if (got <= 0) return std::exchange(rest_, {});
    rest_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string RawSocket::read_all() { return read_until(""); }
void RawSocket::end_writing() { shutdown(fd_, SHUT_WR); }
void RawSocket::reset() {
  const linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close(std::exchange(fd_, -1));
}

ScriptedPeer::ScriptedPeer(std::vector<Script> scripts) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  BERTH_CHECK(bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  BERTH_CHECK(::listen(fd_, 64) == 0);
  BERTH_CHECK(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, scripts = std::move(scripts)] {
    for (std::size_t i = 0;; ++i) {
      const int peer = accept(fd_, nullptr, nullptr);
      if (peer < 0) return;
      ++connections_;
      RawSocket socket(peer);
      scripts[std::min(i, scripts.size() - 1)](socket);
    }
  });
}

ScriptedPeer::~ScriptedPeer() {
  shutdown(fd_, SHUT_RDWR);
  thread_.join();
  close(fd_);
}

ScriptedPeer::Script ScriptedPeer::answer(std::string text) {
  return [text = std::move(text)](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send(text);
  };
}

}  // namespace berth::net
