// SPDX-License-Identifier: Apache-2.0
#include "net/host.h"

#include <array>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::net {
namespace {

std::string text_of(const sockaddr* address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const auto* ip = reinterpret_cast<const sockaddr_in*>(address);
  return inet_ntop(AF_INET, &ip->sin_addr, text.data(), text.size()) != nullptr ? text.data() : "";
}

}  // namespace

std::vector<std::string> host_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET)
      addresses.push_back(text_of(each->ifa_addr));
  ::freeifaddrs(all);
  return addresses;
}

// A datagram's socket learns its address when it is connected; nothing is sent.
std::string default_address() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return "";
  sockaddr_in ip{};
  ip.sin_family = AF_INET;
  ip.sin_port = htons(53);
  ip.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1, which is nobody's
  auto* const address = reinterpret_cast<sockaddr*>(&ip);
  socklen_t size = sizeof ip;
  const bool known =
      ::connect(socket, address, size) == 0 && ::getsockname(socket, address, &size) == 0;
  ::close(socket);
  return known ? text_of(address) : "";
}

}  // namespace berth::net
