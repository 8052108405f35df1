// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include "base/check.h"

namespace berth::conformance {

Stream::~Stream() {
  loop_.run([&] { stream_.reset(); });
}

Result<bool> Stream::more(Duration limit) {
  if (ended_) return false;
  auto chunk = loop_.ask<net::HttpStream::Chunk>(
      limit, [&](Done<net::HttpStream::Chunk> done) { stream_->read(std::move(done)); });
  if (!chunk) return tl::unexpected(chunk.error());
  buffer_ += chunk->bytes;
  ended_ = chunk->end;
  return true;
}

Result<std::string> Stream::line(Duration limit) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != buffer_.npos) {
      std::string found = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return found;
    }
    auto some = more(limit);
    if (!some) return tl::unexpected(some.error());
    if (!*some) return fail(Reason::kNotFound, "the stream has ended");
  }
}

Result<std::string> Stream::rest(Duration limit) {
  for (;;) {
    auto some = more(limit);
    if (!some) return tl::unexpected(some.error());
    if (!*some) return std::exchange(buffer_, {});
  }
}

Wire::Wire(const e2e::Access& access) : access_(access) {
  loop_.run([&] {
    net::HttpClientOptions options{
        .origin = access_.origin, .tls = access_.tls, .accept_gzip = false};
    auto admin = net::HttpClient::create(loop_.executor(), options);
    BERTH_CHECK(admin);
    admin_ = std::move(*admin);
    options.tls.certificate_pem.clear();
    options.tls.key_pem.clear();
    auto bare = net::HttpClient::create(loop_.executor(), options);
    BERTH_CHECK(bare);
    bare_ = std::move(*bare);
  });
}

Wire::~Wire() {
  loop_.run([&] {
    admin_.reset();
    bare_.reset();
  });
}

net::HttpClient& Wire::client(As as) { return as == As::kAdmin ? *admin_ : *bare_; }

namespace {
net::HttpRequest signed_by(const e2e::Access& access, As as, net::HttpRequest request) {
  if (as == As::kAdmin && !access.token.empty())
    request.headers.set("Authorization", "Bearer " + access.token);
  return request;
}
}  // namespace

Result<net::HttpResponse> Wire::call(net::HttpRequest request, As as, Duration limit) {
  request = signed_by(access_, as, std::move(request));
  return loop_.ask<net::HttpResponse>(limit + 5s, [&](Done<net::HttpResponse> done) {
    client(as).call(std::move(request), loop_.executor().clock().now() + limit, std::move(done));
  });
}

Result<std::unique_ptr<Stream>> Wire::open(net::HttpRequest request, As as, Duration limit) {
  request = signed_by(access_, as, std::move(request));
  using Opened = std::unique_ptr<net::HttpStream>;
  auto stream = loop_.ask<Opened>(limit + 5s, [&](Done<Opened> done) {
    client(as).open(std::move(request), loop_.executor().clock().now() + limit, std::move(done));
  });
  if (!stream) return tl::unexpected(stream.error());
  return std::make_unique<Stream>(loop_, std::move(*stream));
}

Result<net::HttpResponse> ask(Wire& wire, std::string method, std::string target, std::string body,
                              std::string content_type) {
  net::HttpRequest request{.method = std::move(method),
                           .target = std::move(target),
                           .headers = {},
                           .body = std::move(body)};
  if (!request.body.empty()) request.headers.set("Content-Type", std::move(content_type));
  return wire.call(std::move(request));
}

}  // namespace berth::conformance
