// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

namespace berth::net {

std::string address_of(std::string_view peer) {
  return std::string(peer.substr(0, peer.rfind(':')));
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "[::1]" || address == "::1" ||
         address.starts_with("[::ffff:127.") || address.starts_with("::ffff:127.");
}

}  // namespace berth::net
