// SPDX-License-Identifier: Apache-2.0
// From an HTTP request to an API request: the path, the options, who sent it, and the body as JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/auth/auth.h"
#include "apiserver/http/accept.h"
#include "apiserver/http/limits.h"
#include "apiserver/kinds/registry.h"
#include "kube/api.h"
#include "net/http_server.h"

namespace berth::apiserver {

struct Incoming {
  std::shared_ptr<const Kinds> kinds;
  const KindRow* row = nullptr;  // null: a page, request.verb is kRaw
  bool below_group = false;      // see Target
  bool tagged = false;           // a page that is worth keeping, and asked for again and again
  std::string known_tags = {};   // of what the client has kept: If-None-Match
  Credentials credentials = {};
  kube::ApiRequest request = {};
  Wanted wanted = {};
};

// Fails with what the real server answers; authentication and rights come after.
Result<Incoming> read_request(net::HttpRequest&&, const net::HttpPeer&,
                              std::shared_ptr<const Kinds>, const DoorLimits&);

Credentials credentials_of(const net::Headers&, const net::HttpPeer&);
// k8s 1.36: whoever does not say what it calls itself is called as its user agent begins.
std::string manager_of(std::string_view user_agent);

}  // namespace berth::apiserver
