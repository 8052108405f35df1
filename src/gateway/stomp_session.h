// SPDX-License-Identifier: Apache-2.0
// STOMP over a WebSocket: who it is, what they subscribed to, and telling them.
#pragma once

#include <memory>
#include <string>

#include "gateway/feeds.h"
#include "gateway/routes.h"
#include "gateway/server.h"

namespace berth::gateway {

// Creates or replaces a Scheduling for a user who may; given by whoever serves REST.
using Submit = std::function<void(std::string ns, std::string body, const Identity&, Done<Ok>)>;

struct StompOptions {
  std::string ns = "default";  // of destinations that name none
  Duration connect_within = 10s;
  Duration heart_beat = 10s;  // the shortest we send and wish for
  Submit submit = {};         // SEND to /app/schedulings; none: not taken
};

// All of it outlives the sockets.
struct StompParts {
  Gateway& gateway;
  Feeds& feeds;
  StompOptions options = {};
};

// /scheduler: STOMP on a plain WebSocket, there and at /scheduler/websocket, and in SockJS' framing
// at /scheduler/{server}/{session}/websocket; /scheduler/info.
void mount_stomp(Routes&, StompParts);

// What a destination means; BadRequest for what is none.
Result<Filter> filter_of(std::string_view destination, const std::string& ns);

}  // namespace berth::gateway
