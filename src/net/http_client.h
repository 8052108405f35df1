// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 client for one origin: keep-alive pool, TLS, gzip, streamed bodies that are pulled,
// so that back-pressure reaches the peer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/runtime.h"
#include "base/scope.h"
#include "net/http.h"
#include "net/tls.h"

namespace berth::net {

struct Origin {
  bool tls = true;
  std::string host = {};  // name or literal address, without brackets
  std::uint16_t port = 443;
};

// "https://host:6443/prefix" taken apart; `prefix` has no trailing slash.
struct Url {
  Origin origin = {};
  std::string prefix = {};
};
Result<Url> parse_url(std::string_view);

struct HttpClientOptions {
  Origin origin = {};
  TlsClientOptions tls = {};
  HttpLimits limits = {};
  std::size_t idle_connections = 8;
  bool accept_gzip = true;
};

// A response whose body is read piece by piece. Thread-compatible; at most one read is pending.
// Destroying it closes the connection unless the body was read to its end.
class HttpStream {
 public:
  struct Chunk {
    std::string bytes;
    bool end = false;  // the body is complete; later reads answer the same
  };
  virtual ~HttpStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  virtual void read(Done<Chunk>) = 0;  // some decoded bytes as soon as there are any; nothing is
                                       // read from the socket in between
};

// Thread-safe; its work runs on `loop`, a loop of a RealRuntime. Errors: Unreachable with outcome
// kNotSent when nothing was written, kUnknown when the request left and no full reply came; Timeout
// likewise. HTTP error codes are not errors here.
class HttpClient {
 public:
  // The TLS material is checked here; see net::check.
  static Result<std::unique_ptr<HttpClient>> create(Executor& loop, HttpClientOptions);
  virtual ~HttpClient() = default;  // pending calls get Cancelled
  virtual void call(HttpRequest, Instant deadline, Done<HttpResponse>) = 0;
  // The deadline covers everything up to the response's headers; the body may take for ever.
  virtual void open(HttpRequest, Instant deadline, Done<std::unique_ptr<HttpStream>>) = 0;
  // From now on new connections use this material (rotated certificates); idle ones are closed.
  virtual Result<Ok> replace_tls(TlsClientOptions) = 0;
};

}  // namespace berth::net
