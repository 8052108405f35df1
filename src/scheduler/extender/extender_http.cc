// SPDX-License-Identifier: Apache-2.0
// The real way to an extender: HTTP/1.1 with or without TLS.
#include <algorithm>

#include <fmt/format.h>

#include "net/http_client.h"
#include "scheduler/extender/extender_transport.h"
#include "scheduler/extender/extender_wire.h"

namespace berth::scheduler {
namespace {

using net::HttpStream;

// Behind the value there is rarely more than a line break; reading that lets the connection live.
constexpr std::size_t kMostDrained = 64 << 10;
constexpr Duration kLongestDrain = 1s;

// One exchange. Loop-confined; kept alive by the answer it waits for.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(Scope& scope, std::size_t most, Instant deadline, Done<ExtenderReply> done)
      : scope_(scope), most_(most), deadline_(deadline), done_(std::move(done)) {}

  void start(net::HttpClient& client, net::HttpRequest request) {
    client.open(std::move(request), deadline_,
                scope_.done<std::unique_ptr<HttpStream>>(
                    kNoLimit, [self = shared_from_this()](Result<std::unique_ptr<HttpStream>> r) {
                      self->on_stream(std::move(r));
                    }));
  }

 private:
  void on_stream(Result<std::unique_ptr<HttpStream>> stream) {
    if (!stream) return done_(tl::unexpected(std::move(stream.error())));
    stream_ = std::move(*stream);
    reply_.status = stream_->status();
    reply_.location = stream_->headers().get("Location");
    if (reply_.status == 200) return read();
    done_(std::move(reply_));
    drain(deadline_);
  }

  void read() {
    const Duration left = deadline_ - scope_.executor().clock().now();
    if (left <= Duration{}) return give_up(Reason::kTimeout, "the reply did not end in time");
    stream_->read(scope_.done<HttpStream::Chunk>(
        left, [self = shared_from_this()](Result<HttpStream::Chunk> chunk) {
          self->on_chunk(std::move(chunk));
        }));
  }

  void on_chunk(Result<HttpStream::Chunk> chunk) {
    if (!chunk && chunk.error().reason == Reason::kTimeout)
      return give_up(Reason::kTimeout, "the reply did not end in time");
    if (!chunk) return done_(tl::unexpected(std::move(chunk.error())));
    reply_.body += chunk->bytes;
    const ValueEnd::Found found = end_.feed(chunk->bytes);
    const std::size_t size = found == ValueEnd::Found::kEnd ? end_.length() : reply_.body.size();
    if (size > most_)
      return give_up(Reason::kRequestEntityTooLarge,
                     fmt::format("the reply is larger than {} bytes", most_));
    if (found == ValueEnd::Found::kNotYet && !chunk->end) return read();
    if (found == ValueEnd::Found::kEnd) reply_.body.resize(size);
    done_(std::move(reply_));
    if (!chunk->end && found == ValueEnd::Found::kEnd)
      drain(std::min(deadline_, scope_.executor().clock().now() + kLongestDrain));
  }

  void drain(Instant until) {
    const Duration left = until - scope_.executor().clock().now();
    if (left <= Duration{} || drained_ > kMostDrained) return stream_.reset();
    stream_->read(scope_.done<HttpStream::Chunk>(
        left, [self = shared_from_this(), until](Result<HttpStream::Chunk> chunk) {
          if (!chunk || chunk->end) return self->stream_.reset();
          self->drained_ += chunk->bytes.size();
          self->drain(until);
        }));
  }

  void give_up(Reason reason, std::string message) {
    stream_.reset();
    done_(tl::unexpected(
        Error{.reason = reason, .message = std::move(message), .outcome = Outcome::kUnknown}));
  }

  Scope& scope_;
  std::size_t most_;
  Instant deadline_;
  Done<ExtenderReply> done_;
  std::unique_ptr<HttpStream> stream_;
  ExtenderReply reply_;
  ValueEnd end_;
  std::size_t drained_ = 0;
};

class HttpExtenderTransport final : public ExtenderTransport {
 public:
  HttpExtenderTransport(Scope& scope, std::unique_ptr<net::HttpClient> client)
      : scope_(scope), client_(std::move(client)) {}
  void post(std::string target, std::string body, std::size_t most_reply, Instant deadline,
            Done<ExtenderReply> done) override {
    net::HttpRequest request{
        .method = "POST", .target = std::move(target), .body = std::move(body)};
    request.headers.add("Content-Type", "application/json");
    std::make_shared<Call>(scope_, most_reply, deadline, std::move(done))
        ->start(*client_, std::move(request));
  }

 private:
  Scope& scope_;
  std::unique_ptr<net::HttpClient> client_;
};

// The text itself, or what stands in the file.
Result<std::string> material(const std::string& data, const std::string& file,
                             std::string_view field, const client::Surroundings& surroundings) {
  if (!data.empty() || file.empty()) return data;
  Result<std::string> text = surroundings.read_file(file);
  if (!text)
    return invalid(
        fmt::format("tlsConfig.{}: cannot read {}: {}", field, file, text.error().message));
  return text;
}

Result<net::TlsClientOptions> tls_of(const ExtenderConfig& config,
                                     const client::Surroundings& surroundings) {
  const ExtenderTls& tls = config.tls;
  auto ca = material(tls.ca_data, tls.ca_file, "caFile", surroundings);
  if (!ca) return tl::unexpected(std::move(ca.error()));
  auto certificate = material(tls.cert_data, tls.cert_file, "certFile", surroundings);
  if (!certificate) return tl::unexpected(std::move(certificate.error()));
  auto key = material(tls.key_data, tls.key_file, "keyFile", surroundings);
  if (!key) return tl::unexpected(std::move(key.error()));
  if (tls.insecure && !ca->empty())
    return invalid("tlsConfig: insecure and a certificate authority exclude each other");
  // k8s 1.36: enableHTTPS without an authority trusts anyone.
  const bool insecure = tls.insecure || (config.enable_https && ca->empty());
  return net::TlsClientOptions{.ca_pem = std::move(*ca),
                               .certificate_pem = std::move(*certificate),
                               .key_pem = std::move(*key),
                               .server_name = tls.server_name,
                               .insecure_skip_verify = insecure};
}

}  // namespace

Result<std::unique_ptr<ExtenderTransport>> connect_extender(
    Scope& scope, const ExtenderConfig& config, std::size_t idle,
    const client::Surroundings& surroundings) {
  const auto named = [&](const Error& error) {
    return invalid(fmt::format("extender {}: {}", config.url_prefix, error.message));
  };
  auto url = net::parse_url(config.url_prefix);
  if (!url) return named(url.error());
  auto tls = tls_of(config, surroundings);
  if (!tls) return named(tls.error());
  // k8s 1.36: the scheme alone decides whether TLS is spoken.
  auto client = net::HttpClient::create(
      scope.executor(), {.origin = url->origin, .tls = std::move(*tls), .idle_connections = idle});
  if (!client) return named(client.error());
  return std::make_unique<HttpExtenderTransport>(scope, std::move(*client));
}

}  // namespace berth::scheduler
