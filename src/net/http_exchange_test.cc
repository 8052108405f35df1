// SPDX-License-Identifier: Apache-2.0
// Our client and our server together, plain and over TLS.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "net/test_lab.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HttpClientOptions https(std::uint16_t port, const TestCertificates& c) {
  HttpClientOptions options;
  options.origin = {.tls = true, .host = "127.0.0.1", .port = port};
  options.tls.ca_pem = c.authority.certificate_pem;
  return options;
}

HttpServerOptions tls_server_options(const TestCertificates& c, bool ask_clients = false) {
  HttpServerOptions options;
  options.tls = TlsServerOptions{.certificate_pem = c.server.certificate_pem,
                                 .key_pem = c.server.key_pem,
                                 .client_ca_pem = ask_clients ? c.authority.certificate_pem : ""};
  return options;
}

void echo_body(HttpRequest request, const HttpPeer&, HttpReply reply) {
  reply.send({.body = std::move(request.body)});
}

// Says who the peer is: "alice[system:masters,ops]" or "nobody".
void whoami(HttpRequest, const HttpPeer& peer, HttpReply reply) {
  if (!peer.identity) return reply.send({.body = "nobody"});
  reply.send({.body = fmt::format("{}[{}]", peer.identity->common_name,
                                  fmt::join(peer.identity->organizations, ","))});
}

class Exchange : public ::testing::TestWithParam<bool> {
 protected:
  TestServer serve(TestHandler::Handle handle, HttpServerOptions options = {}) {
    if (GetParam()) options.tls = tls_server_options(certificates).tls;
    return lab.serve(std::move(handle), std::move(options));
  }
  std::unique_ptr<HttpClient> client(const TestServer& server) {
    if (!GetParam()) return lab.client(server.port());
    return HttpClient::create(lab.io, https(server.port(), certificates)).value();
  }
  TestCertificates certificates;
  TestLab lab;
};

TEST_P(Exchange, CarriesBodiesOfAllSizes) {
  HttpServerOptions options;
  options.limits.request_body_bytes = 64 << 20;
  const TestServer server = serve(echo_body, options);
  const auto c = client(server);
  for (const std::size_t size : {0u, 1u, 16383u, 16384u, 16385u, 262144u, 1000003u, 20u << 20}) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 2654435761u >> 13);
    const auto reply = lab.call(*c, {.method = "POST", .body = body}).get();
    ASSERT_TRUE(reply) << size << ": " << reply.error().message;
    EXPECT_TRUE(reply->body == body) << size;
  }
}

TEST_P(Exchange, CompressesLargeRepliesForPeersThatAcceptIt) {
  const std::string text(1 << 20, 'x');
  const TestServer server = serve([&](HttpRequest r, const HttpPeer&, HttpReply reply) {
    HttpResponse response{.body = r.target == "/small" ? "small" : text};
    response.headers.add("X-Accepts", std::string(r.headers.get("Accept-Encoding")));
    reply.send(std::move(response), Gzip::kIfLarge);
  });
  const auto c = client(server);
  const auto large = lab.call(*c, {}).get();
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_TRUE(large->body == text);
  EXPECT_FALSE(large->headers.has("Content-Length")) << "it was sent in pieces, hence compressed";
  EXPECT_FALSE(large->headers.has("Content-Encoding"));
  const auto small = lab.call(*c, {.target = "/small"}).get();
  EXPECT_EQ(small->body, "small");
  EXPECT_EQ(small->headers.get("Content-Length"), "5");
  HttpRequest plain_only;
  plain_only.headers.add("Accept-Encoding", "gzip;q=0, identity");
  const auto plain = lab.call(*c, plain_only).get();
  EXPECT_TRUE(plain->body == text);
  EXPECT_EQ(plain->headers.get("Content-Length"), "1048576");
}

TEST_P(Exchange, ManyCallsAtOnceAllGetTheirOwnReply) {
  const TestServer server = serve(echo_body);
  const auto c = client(server);
  std::vector<std::future<Result<HttpResponse>>> replies;
  for (int i = 0; i < 100; ++i)
    replies.push_back(lab.call(*c, {.method = "POST", .body = std::to_string(i)}));
  for (int i = 0; i < 100; ++i) {
    const auto reply = replies[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body, std::to_string(i));
  }
}

// Sends `count` events, each after the one before was taken.
struct Ticker : std::enable_shared_from_this<Ticker> {
  Ticker(Scope& s, HttpReply r, int n) : scope(s), reply(std::move(r)), count(n) {}
  void next() {
    if (sent == count) return reply.end();
    reply.write(fmt::format("event {}\n", sent++),
                scope.done<Ok>(kNoLimit, [self = shared_from_this()](const Result<Ok>& taken) {
                  if (taken) self->next();
                }));
  }
  Scope& scope;
  HttpReply reply;
  int count;
  int sent = 0;
};

TEST_P(Exchange, ManyStreamsAtOnceEachInOrder) {
  constexpr int kStreams = 50;
  constexpr int kEvents = 40;
  const TestServer server = serve([&](HttpRequest, const HttpPeer&, HttpReply reply) {
    lab.home.post([&, reply = std::move(reply)]() mutable {
      reply.begin(200, {});
      std::make_shared<Ticker>(lab.scope(), std::move(reply), kEvents)->next();
    });
  });
  const auto c = client(server);
  std::string expected;
  for (int i = 0; i < kEvents; ++i) expected += fmt::format("event {}\n", i);
  std::vector<std::future<Result<std::unique_ptr<HttpStream>>>> opening;
  for (int i = 0; i < kStreams; ++i) opening.push_back(lab.open(*c, {}));
  std::vector<std::unique_ptr<HttpStream>> streams;
  for (auto& stream : opening) streams.push_back(stream.get().value());
  for (auto& stream : streams) EXPECT_EQ(lab.read_all(*stream).value(), expected);
}

TEST_P(Exchange, StreamsCanBeDroppedAtAnyMomentFromAnyThread) {
  std::atomic<int> open_streams = 0;
  const TestServer server = serve([&](HttpRequest, const HttpPeer&, HttpReply reply) {
    ++open_streams;
    lab.home.post([&, reply = std::move(reply)]() mutable {
      reply.begin(200, {});
      std::make_shared<Ticker>(lab.scope(), std::move(reply), 1000)->next();
    });
  });
  auto c = client(server);
  for (int i = 0; i < 30; ++i) {
    auto stream = lab.open(*c, {}).get().value();
    auto pending = lab.read(*stream);
    if (i % 3 == 0) pending.get();
    if (i % 3 == 1) lab.on_io([&] { stream.reset(); });
    stream.reset();
  }
  auto last = lab.open(*c, {});
  c.reset();
  const auto result = last.get();
  if (!result) {
    EXPECT_EQ(result.error().reason, Reason::kCancelled);
  }
  EXPECT_GE(open_streams, 30);
}

TEST_P(Exchange, ARuntimeMayEndWhileEverythingIsUnderWay) {
  TestCertificates certs;
  auto own = std::make_unique<RealRuntime>();
  std::vector<HttpReply> held;
  TestHandler handler([&](HttpRequest, const HttpPeer&, HttpReply reply) {
    reply.begin(200, {});
    held.push_back(std::move(reply));
  });
  HttpServerOptions options;
  if (GetParam()) options.tls = tls_server_options(certs).tls;
  Executor& io = own->loop("io");
  auto server = HttpServer::start(io, options, handler).value();
  HttpClientOptions to;
  to.origin = {.tls = false, .host = "127.0.0.1", .port = server->port()};
  if (GetParam()) to = https(server->port(), certs);
  auto c = HttpClient::create(io, to).value();
  auto stream = lab.open(*c, {}).get().value();
  auto pending = lab.read(*stream);
  auto calling = lab.call(*c, {});
  server.reset();
  c.reset();
  stream.reset();
  held.clear();
  own.reset();
  EXPECT_FALSE(pending.get());
  EXPECT_FALSE(calling.get());
}

INSTANTIATE_TEST_SUITE_P(Over, Exchange, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Tcp"; });

TEST(TlsExchange, TheServerLearnsWhoTheClientIs) {
  const TestCertificates c;
  TestLab lab;
  const TestServer server = lab.serve(whoami, tls_server_options(c, true));
  auto options = https(server.port(), c);
  const auto anonymous = HttpClient::create(lab.io, options).value();
  EXPECT_EQ(lab.call(*anonymous, {}).get()->body, "nobody");
  options.tls.certificate_pem = c.client.certificate_pem;
  options.tls.key_pem = c.client.key_pem;
  const auto alice = HttpClient::create(lab.io, options).value();
  EXPECT_EQ(lab.call(*alice, {}).get()->body, "alice[system:masters,ops]");
}

TEST(TlsExchange, MaterialCanBeReplacedWhileInUse) {
  const TestCertificates c;
  TestLab lab;
  const TestServer server = lab.serve(whoami, tls_server_options(c, true));
  auto options = https(server.port(), c);
  const auto client = HttpClient::create(lab.io, options).value();
  EXPECT_EQ(lab.call(*client, {}).get()->body, "nobody");
  options.tls.certificate_pem = c.client.certificate_pem;
  EXPECT_THAT(client->replace_tls(options.tls).error().message, HasSubstr("client key: missing"));
  EXPECT_EQ(lab.call(*client, {}).get()->body, "nobody") << "bad material changes nothing";
  options.tls.key_pem = c.client.key_pem;
  EXPECT_TRUE(client->replace_tls(options.tls));
  EXPECT_EQ(lab.call(*client, {}).get()->body, "alice[system:masters,ops]");
}

TEST(TlsExchange, TheNameToVerifyCanDifferFromTheHost) {
  const TestCertificates c;
  TestLab lab;
  const TestServer server = lab.serve(echo_body, tls_server_options(c));
  auto options = https(server.port(), c);
  options.tls.server_name = "localhost";
  EXPECT_TRUE(lab.call(*HttpClient::create(lab.io, options).value(), {}).get());
  options.tls.server_name = "::1";
  EXPECT_TRUE(lab.call(*HttpClient::create(lab.io, options).value(), {}).get());
}

TEST(TlsExchange, RefusesServersThatProveNothing) {
  const TestCertificates c;
  const auto issue = [&](const CertificateRequest& request) {
    return issue_certificate(c.authority, request).value();
  };
  TestLab lab;
  struct Row {
    const char* name;
    KeyPair certificate;
    std::string server_name;
    const char* message;
  };
  const TestCertificates foreign;
  const Row rows[] = {
      {"another name", issue({.common_name = "other", .dns_names = {"other"}}), "localhost",
       "hostname mismatch"},
      {"the name only as common name", issue({.common_name = "localhost", .dns_names = {"x"}}),
       "localhost", "hostname mismatch"},
      {"another address", issue({.common_name = "x", .ip_addresses = {"10.0.0.1"}}), "",
       "IP address mismatch"},
      {"unknown authority", foreign.server, "", "unable to get local issuer certificate"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    HttpServerOptions served;
    served.tls = TlsServerOptions{.certificate_pem = row.certificate.certificate_pem,
                                  .key_pem = row.certificate.key_pem};
    const TestServer server = lab.serve(echo_body, served);
    auto options = https(server.port(), c);
    options.tls.server_name = row.server_name;
    const auto client = HttpClient::create(lab.io, options).value();
    const auto reply = lab.call(*client, {.method = "POST", .body = "secret"}).get();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().reason, Reason::kUntrusted);
    EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
    EXPECT_THAT(reply.error().message, HasSubstr(row.message));
    options.tls.insecure_skip_verify = true;
    EXPECT_TRUE(lab.call(*HttpClient::create(lab.io, options).value(), {}).get());
  }
}

TEST(TlsExchange, RefusesClientsThatProveNothing) {
  const TestCertificates c;
  const TestCertificates foreign;
  TestLab lab;
  auto served = tls_server_options(c, true);
  served.tls->require_client_certificate = true;
  const TestServer server = lab.serve(
      [](HttpRequest, const HttpPeer&, HttpReply) { FAIL() << "it got through"; }, served);
  auto options = https(server.port(), c);
  const auto nobody = lab.call(*HttpClient::create(lab.io, options).value(), {}).get();
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr("certificate required"));
  options.tls.certificate_pem = foreign.client.certificate_pem;
  options.tls.key_pem = foreign.client.key_pem;
  EXPECT_FALSE(lab.call(*HttpClient::create(lab.io, options).value(), {}).get());
}

TEST(TlsExchange, AServersCertificateCanBeReplacedWhileItServes) {
  const TestCertificates before, after;
  TestLab lab;
  const TestServer server = lab.serve(echo_body, tls_server_options(before));
  const auto old_client = HttpClient::create(lab.io, https(server.port(), before)).value();
  const auto new_client = HttpClient::create(lab.io, https(server.port(), after)).value();
  const auto works = [&](HttpClient& client) { return lab.call(client, {}).get().has_value(); };
  EXPECT_TRUE(works(*old_client));
  EXPECT_FALSE(works(*new_client));
  EXPECT_FALSE(server.server->use({.certificate_pem = "none", .key_pem = "none"}));
  EXPECT_TRUE(works(*old_client)) << "what cannot be used changes nothing";
  ASSERT_TRUE(server.server->use(*tls_server_options(after).tls));
  EXPECT_TRUE(works(*old_client)) << "its connection is open";
  EXPECT_TRUE(works(*new_client));
  EXPECT_FALSE(works(*HttpClient::create(lab.io, https(server.port(), before)).value()));
}

TEST(TlsExchange, PlainPeersAreToldApart) {
  const TestCertificates c;
  TestLab lab;
  const TestServer plain = lab.serve(echo_body);
  const auto https_to_plain = HttpClient::create(lab.io, https(plain.port(), c)).value();
  const auto reply = lab.call(*https_to_plain, {}).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(reply.error().message, HasSubstr("TLS with 127.0.0.1"));
  const TestServer secure = lab.serve(echo_body, tls_server_options(c));
  const auto plain_to_https = lab.client(secure.port());
  EXPECT_FALSE(lab.call(*plain_to_https, {}).get());
}

TEST(TlsExchange, AServerStuckInTheHandshakeIsGivenUp) {
  const TestCertificates c;
  TestLab lab;
  ScriptedPeer silent({[](RawSocket& s) { s.read_all(); }});
  auto options = https(silent.port(), c);
  options.limits.connect_timeout = 30ms;
  const auto reply = lab.call(*HttpClient::create(lab.io, options).value(), {}).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kUnreachable);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(reply.error().message, HasSubstr("in time"));
}

}  // namespace
}  // namespace berth::net
