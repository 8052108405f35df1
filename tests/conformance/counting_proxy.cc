// SPDX-License-Identifier: Apache-2.0
#include "counting_proxy.h"

#include <array>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace berth::conformance {
namespace {

constexpr int kLook = 50;  // milliseconds between looks at whether to stop

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// False: this side has ended.
bool pass(int from, int to, std::size_t& count) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  count += static_cast<std::size_t>(got);
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t n =
        ::send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += n;
  }
  return true;
}

}  // namespace

CountingProxy::CountingProxy(std::uint16_t server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  BERTH_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  BERTH_CHECK(::listen(listener_, 1) == 0);
  BERTH_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, server_port] { run(server_port); });
}

CountingProxy::~CountingProxy() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void CountingProxy::run(std::uint16_t server_port) {
  pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
  while (!stop_ && ::poll(&waiting, 1, kLook) <= 0) {
  }
  if (stop_) return;
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(server_port);
  bool open =
      client >= 0 && ::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  while (open && !stop_) {
    std::array<pollfd, 2> ready = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    ::poll(ready.data(), ready.size(), kLook);
    std::size_t sent = 0, got = 0;
    if (ready[0].revents != 0) open = pass(client, server, sent);
    if (open && ready[1].revents != 0) open = pass(server, client, got);
    received_ += got;
  }
  if (client >= 0) ::close(client);
  ::close(server);
}

}  // namespace berth::conformance
