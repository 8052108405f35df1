// SPDX-License-Identifier: Apache-2.0
// Plain HTTP to the server under test, for threads that wait. Nothing here knows Kubernetes, so
// that nothing of ours is between a check and the bytes.
#pragma once

#include <memory>
#include <string>

#include "access.h"
#include "base/result.h"
#include "net/http_client.h"
#include "test_loop.h"

namespace berth::conformance {

// Whom a request comes from.
enum class As : unsigned char {
  kAdmin,
  kItself,  // whoever its own Authorization header names; without one, nobody
};

// A response that goes on. Thread-compatible.
class Stream {
 public:
  Stream(e2e::TestLoop& loop, std::unique_ptr<net::HttpStream> stream)
      : loop_(loop), stream_(std::move(stream)) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int status() const { return stream_->status(); }
  const net::Headers& headers() const { return stream_->headers(); }
  // The next line without its end. NotFound: the stream has ended; Timeout: silence past `limit`,
  // and then nothing more can be read.
  Result<std::string> line(Duration limit);
  Result<std::string> rest(Duration limit);  // everything up to the end

 private:
  Result<bool> more(Duration limit);  // false: it ended
  e2e::TestLoop& loop_;
  std::unique_ptr<net::HttpStream> stream_;
  std::string buffer_;
  bool ended_ = false;
};

// Thread-compatible: each thread that asks has one of its own.
class Wire {
 public:
  explicit Wire(const e2e::Access&);
  ~Wire();
  Result<net::HttpResponse> call(net::HttpRequest, As = As::kAdmin, Duration limit = 60s);
  Result<std::unique_ptr<Stream>> open(net::HttpRequest, As = As::kAdmin, Duration limit = 60s);

 private:
  net::HttpClient& client(As);
  const e2e::Access& access_;
  e2e::TestLoop loop_{"wire"};
  std::unique_ptr<net::HttpClient> admin_, bare_;
};

// One request, as the administrator.
Result<net::HttpResponse> ask(Wire&, std::string method, std::string target, std::string body = {},
                              std::string content_type = "application/json");

}  // namespace berth::conformance
