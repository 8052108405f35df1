// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/secure_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/test_lab.h"

namespace berth::scheduler {
namespace {

using testing::HasSubstr;

TEST(SecureServer, ServesWithACertificateOfItsOwnAndTakesAnyClient) {
  net::TestLab lab;
  const net::TestCertificates stranger;
  net::TestHandler handler([](net::HttpRequest, const net::HttpPeer& peer, net::HttpReply reply) {
    reply.send({.body = peer.certificates.empty() ? "nobody" : "somebody"});
  });
  auto options = secure_server_options({.bind_address = "127.0.0.1"}).value();
  EXPECT_EQ(options.port, 10259);
  options.port = 0;
  const std::string ca = options.tls->certificate_pem;
  auto server = net::HttpServer::start(lab.io, options, handler).value();
  const auto get = [&](const net::KeyPair& pair) {
    auto client =
        net::HttpClient::create(lab.io, {.origin = {.host = "127.0.0.1", .port = server->port()},
                                         .tls = {.ca_pem = ca,
                                                 .certificate_pem = pair.certificate_pem,
                                                 .key_pem = pair.key_pem}})
            .value();
    const auto reply = lab.call(*client, {}).get();
    return reply ? reply->body : reply.error().message;
  };
  EXPECT_EQ(get({}), "nobody");
  EXPECT_EQ(get(stranger.client), "somebody");
}

TEST(SecureServer, SaysWhatIsWrongWithItsCertificate) {
  const net::TestCertificates all;
  EXPECT_THAT(
      secure_server_options({.certificate_pem = all.server.certificate_pem}).error().message,
      HasSubstr("belong together"));
  EXPECT_THAT(secure_server_options(
                  {.certificate_pem = all.server.certificate_pem, .key_pem = all.client.key_pem})
                  .error()
                  .message,
              HasSubstr("--tls-cert-file, --tls-private-key-file"));
}

TEST(SecureServer, PortZeroServesNothing) {
  net::TestLab lab;
  net::TestHandler handler([](net::HttpRequest, const net::HttpPeer&, net::HttpReply) {});
  const auto server = start_secure_server(lab.io, {.secure_port = 0}, handler);
  ASSERT_TRUE(server);
  EXPECT_EQ(*server, nullptr);
}

}  // namespace
}  // namespace berth::scheduler
