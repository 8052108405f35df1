// SPDX-License-Identifier: Apache-2.0
// Client certificates that are asked for but judged later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/test_lab.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClientChain, IsShownToTheHandlerWhoeverSignedIt) {
  TestLab lab;
  const TestCertificates ours, theirs;
  std::string seen;
  auto server = lab.serve(
      [&](HttpRequest, const HttpPeer& peer, HttpReply reply) {
        EXPECT_FALSE(peer.identity);
        seen = peer.certificates;
        reply.send({.body = "ok"});
      },
      {.tls = TlsServerOptions{.certificate_pem = ours.server.certificate_pem,
                               .key_pem = ours.server.key_pem,
                               .request_client_certificate = true}});
  const auto call = [&](const KeyPair& pair) {
    auto client =
        HttpClient::create(lab.io, {.origin = {.host = "127.0.0.1", .port = server.port()},
                                    .tls = {.ca_pem = ours.authority.certificate_pem,
                                            .certificate_pem = pair.certificate_pem,
                                            .key_pem = pair.key_pem}})
            .value();
    const auto reply = lab.call(*client, {}).get();
    EXPECT_TRUE(reply) << reply.error().message;
  };
  call({});
  EXPECT_EQ(seen, "");
  call(theirs.client);
  EXPECT_EQ(seen, theirs.client.certificate_pem);
  EXPECT_THAT(verify_client(seen, ours.authority.certificate_pem).error().message,
              HasSubstr("refused"));
  call(ours.client);
  const auto alice =
      verify_client(seen, theirs.authority.certificate_pem + ours.authority.certificate_pem);
  ASSERT_TRUE(alice) << alice.error().message;
  EXPECT_EQ(alice->common_name, "alice");
  EXPECT_THAT(alice->organizations, ElementsAre("system:masters", "ops"));
  EXPECT_EQ(alice->sha256.size(), 64u);
}

TEST(ClientChain, ExpiredCertificatesAndRubbishAreRefused) {
  const TestCertificates all;
  const auto old = issue_certificate(all.authority, {.common_name = "old", .days = -1}).value();
  EXPECT_THAT(verify_client(old.certificate_pem, all.authority.certificate_pem).error().message,
              HasSubstr("expired"));
  EXPECT_FALSE(verify_client("", all.authority.certificate_pem));
  EXPECT_FALSE(verify_client(all.client.certificate_pem, ""));
  EXPECT_FALSE(check(TlsServerOptions{.certificate_pem = all.server.certificate_pem,
                                      .key_pem = all.server.key_pem,
                                      .client_ca_pem = all.authority.certificate_pem,
                                      .request_client_certificate = true}));
}

TEST(Sha256, IsTheKnownOne) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace berth::net
