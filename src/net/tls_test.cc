// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <gmock/gmock.h>

#include "net/test_lab.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;

TEST(Tls, AcceptsWhatBelongsTogether) {
  const TestCertificates c;
  EXPECT_TRUE(check(TlsClientOptions{}));
  EXPECT_TRUE(check(TlsClientOptions{.ca_pem = c.authority.certificate_pem,
                                     .certificate_pem = c.client.certificate_pem,
                                     .key_pem = c.client.key_pem}));
  EXPECT_TRUE(check(TlsServerOptions{.certificate_pem = c.server.certificate_pem,
                                     .key_pem = c.server.key_pem,
                                     .client_ca_pem = c.authority.certificate_pem,
                                     .require_client_certificate = true}));
}

TEST(Tls, TextAroundPemBlocksIsIgnored) {
  const TestCertificates c;
  const std::string bundle = "# our roots\n" + c.authority.certificate_pem + "\nand another\n" +
                             make_authority("second").value().certificate_pem;
  EXPECT_TRUE(check(TlsClientOptions{.ca_pem = bundle}));
}

TEST(Tls, SaysWhichPartOfAClientsMaterialIsWrong) {
  const TestCertificates c;
  const std::string cut = c.client.certificate_pem.substr(0, 200) + "\n-----END CERTIFICATE-----\n";
  const KeyPair expired =
      issue_certificate(c.authority, {.common_name = "old", .days = -1}).value();
  struct Row {
    const char* name;
    TlsClientOptions options;
    const char* message;
  };
  const Row rows[] = {
      {"ca without PEM", {.ca_pem = "hello"}, "certificate authority: no PEM block found"},
      {"ca is a key",
       {.ca_pem = c.client.key_pem},
       "certificate authority: no PEM block of type CERTIFICATE found"},
      {"second ca is damaged",
       {.ca_pem = c.authority.certificate_pem + cut},
       "certificate authority: PEM block 2 is not a valid certificate"},
      {"certificate without key",
       {.certificate_pem = c.client.certificate_pem},
       "client key: missing, but there is a certificate"},
      {"key without certificate",
       {.key_pem = c.client.key_pem},
       "client certificate: missing, but there is a key"},
      {"certificate without PEM",
       {.certificate_pem = "x", .key_pem = c.client.key_pem},
       "client certificate: no PEM block found"},
      {"damaged certificate",
       {.certificate_pem = cut, .key_pem = c.client.key_pem},
       "client certificate: PEM block 1 is not a valid certificate"},
      {"key without PEM",
       {.certificate_pem = c.client.certificate_pem, .key_pem = c.client.certificate_pem},
       "client key: no PEM block of type PRIVATE KEY found"},
      {"damaged key",
       {.certificate_pem = c.client.certificate_pem,
        .key_pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
       "client key: the PEM block is not a valid private key"},
      {"encrypted key",
       {.certificate_pem = c.client.certificate_pem,
        .key_pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE "
                   "KEY-----\n"},
       "client key: it is encrypted; store it without a passphrase"},
      {"key of another certificate",
       {.certificate_pem = c.client.certificate_pem, .key_pem = c.server.key_pem},
       "client key: it does not belong to the client certificate"},
      {"expired",
       {.certificate_pem = expired.certificate_pem, .key_pem = expired.key_pem},
       "client certificate: expired on "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto result = check(row.options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::kInvalid);
    EXPECT_THAT(result.error().message, HasSubstr(row.message));
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
  }
}

TEST(Tls, SaysWhichPartOfAServersMaterialIsWrong) {
  const TestCertificates c;
  const TlsServerOptions good{.certificate_pem = c.server.certificate_pem,
                              .key_pem = c.server.key_pem};
  auto no_key = good;
  no_key.key_pem = "";
  EXPECT_THAT(check(no_key).error().message, HasSubstr("server key: missing"));
  auto bad_ca = good;
  bad_ca.client_ca_pem = "x";
  EXPECT_THAT(check(bad_ca).error().message,
              HasSubstr("client certificate authority: no PEM block found"));
  auto no_ca = good;
  no_ca.require_client_certificate = true;
  EXPECT_THAT(check(no_ca).error().message, HasSubstr("no authority for them is given"));
}

TEST(Tls, RefusesToIssueForNamesThatWouldSmuggleOthersIn) {
  const TestCertificates c;
  EXPECT_FALSE(issue_certificate(c.authority, {.common_name = "x", .dns_names = {"a,DNS:b"}}));
  EXPECT_FALSE(issue_certificate(c.authority, {.common_name = "x", .ip_addresses = {"300.1.1.1"}}));
}

}  // namespace
}  // namespace berth::net
