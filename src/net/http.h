// SPDX-License-Identifier: Apache-2.0
// What an HTTP/1.1 message is, whoever sends it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace berth::net {

// Order and duplicates are kept; names compare without case.
class Headers {
 public:
  void add(std::string name, std::string value) {
    all_.emplace_back(std::move(name), std::move(value));
  }
  void set(std::string_view name, std::string value);  // replaces every header of that name
  void remove(std::string_view name);
  std::string_view get(std::string_view name) const;  // the first one's value, or ""
  bool has(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& items() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

bool same_token(std::string_view a, std::string_view b);  // without case
// Is `token` an item of a comma-separated list, whatever its parameters ("gzip;q=0.5")?
bool lists_token(std::string_view list, std::string_view token);

bool accepts_gzip(const Headers&);
std::string http_date(WallTime);  // "Sun, 06 Nov 1994 08:49:37 GMT"

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, already percent-encoded
  Headers headers = {};
  std::string body = {};
};

struct HttpResponse {
  int status = 200;
  Headers headers = {};
  std::string body = {};  // after transfer and content decoding
};

// Bounds on what a peer may make us hold. Past one of them the exchange ends with an error that
// names it.
struct HttpLimits {
  std::size_t header_bytes = 64 << 10;
  std::size_t header_count = 100;
  std::size_t target_bytes = 8 << 10;
  std::size_t request_body_bytes = 3 << 20;
  std::size_t response_body_bytes = std::size_t{512} << 20;
  std::size_t connections = 1000;  // server side
  Duration header_timeout = std::chrono::seconds(
      30);  // server: from the first byte (or connection) to the end of the headers
  Duration body_timeout = std::chrono::seconds(60);     // server: the request's body
  Duration idle_timeout = std::chrono::seconds(90);     // keep-alive connection without a request
  Duration connect_timeout = std::chrono::seconds(10);  // client: DNS, TCP and TLS together
  Duration write_timeout = std::chrono::seconds(30);    // server: a peer that does not read
};

std::string percent_encode(std::string_view text);  // for one path segment or query value
std::optional<std::string> percent_decode(std::string_view text);  // nothing for a bad escape

}  // namespace berth::net
