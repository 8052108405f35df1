// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/limits.h"

namespace berth::apiserver {

net::HttpLimits DoorLimits::http() const {
  constexpr std::size_t kSomewhat = std::size_t{1} << 20;
  net::HttpLimits out;
  out.header_bytes = header_bytes;
  out.target_bytes = header_bytes;  // selectors can be long
  out.request_body_bytes = body_bytes + kSomewhat;
  out.connections = connections;
  out.header_timeout = header_time;
  out.body_timeout = body_time;
  out.idle_timeout = idle_time;
  out.write_timeout = unread_time;
  return out;
}

}  // namespace berth::apiserver
