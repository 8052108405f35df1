// SPDX-License-Identifier: Apache-2.0
// What a route is given and what it answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api.h"
#include "net/http.h"

namespace berth::gateway {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string path = {};  // as it was sent, without the query
  Pairs values = {};      // what the braces of the route's path stand for, decoded
  Pairs query = {};
  net::Headers headers = {};
  std::string body = {};
  std::string address = {};  // the peer's, without its port

  // "" where there is none.
  std::string value(std::string_view name) const;
  // The first of that name.
  std::optional<std::string> asked(std::string_view name) const;
};

struct Reply {
  int code = 200;
  std::string body = {};
  std::string content_type = "application/json";  // of a body
  net::Headers headers = {};                      // others
};

}  // namespace berth::gateway
