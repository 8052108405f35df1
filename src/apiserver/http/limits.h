// SPDX-License-Identifier: Apache-2.0
// What clients may cost at the HTTP door, each with a test.
#pragma once

#include <cstddef>

#include "base/time.h"
#include "kube/protobuf.h"
#include "net/http.h"

namespace berth::apiserver {

struct DoorLimits {
  std::size_t body_bytes = std::size_t{3} << 20;
  std::size_t large_body = 128 << 10;  // served one by one,
  std::size_t large_bodies = 64;       // so many may wait for that
  std::size_t header_bytes = 64 << 10;
  std::size_t connections = 10'000;
  std::size_t watches_per_client = 5'000;           // of one address
  Duration header_time = std::chrono::seconds(30);  // from the first byte to the last header
  Duration body_time = std::chrono::seconds(60);
  Duration idle_time = std::chrono::seconds(90);    // a connection without a request
  Duration unread_time = std::chrono::seconds(30);  // a client that takes nothing of its answer
  std::size_t piece_bytes = 128 << 10;              // of an answer, made ahead of the client
  std::size_t yaml_bytes = std::size_t{16} << 20;   // of an answer in YAML, which is made whole
  unsigned depth = 100;                             // of bodies that are not JSON

  // For the server in front. A body that is only somewhat too large still gets a Status.
  net::HttpLimits http() const;
  kube::ProtobufLimits protobuf() const { return {.max_bytes = body_bytes, .max_depth = depth}; }
};

}  // namespace berth::apiserver
