// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <gmock/gmock.h>

#include "net/http_client.h"

namespace berth::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Headers, KeepOrderAndDuplicatesAndCompareWithoutCase) {
  Headers headers;
  headers.add("Warning", "one");
  headers.add("X", "y");
  headers.add("warning", "two");
  EXPECT_EQ(headers.get("WARNING"), "one");
  EXPECT_THAT(headers.all("Warning"), ElementsAre("one", "two"));
  headers.set("Warning", "three");
  EXPECT_THAT(headers.all("Warning"), ElementsAre("three"));
  headers.remove("x");
  EXPECT_FALSE(headers.has("X"));
  EXPECT_EQ(headers.get("X"), "");
}

TEST(Headers, KnowWhetherGzipIsWelcome) {
  const auto accepts = [](const char* value) {
    Headers headers;
    headers.add("Accept-Encoding", value);
    return accepts_gzip(headers);
  };
  for (const char* yes :
       {"gzip", "GZIP", "deflate, gzip;q=1.0, *;q=0.5", "gzip ; q=0.001", "br,gzip"})
    EXPECT_TRUE(accepts(yes)) << yes;
  for (const char* no : {"", "identity", "gzip;q=0", "gzip;q=0.000", "xgzip", "gzipx", ",,"})
    EXPECT_FALSE(accepts(no)) << no;
  EXPECT_FALSE(accepts_gzip(Headers()));
}

TEST(HttpDate, IsWrittenAsTheRfcSays) {
  EXPECT_EQ(http_date({784111777'000'000'000}), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date({0}), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date({951782400'999'999'999}), "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST(PercentCoding, GoesThereAndBack) {
  EXPECT_EQ(percent_encode("a-b_c.d~e/f g=h%\xc3\xa4"), "a-b_c.d~e%2Ff%20g%3Dh%25%C3%A4");
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(every)), every);
  EXPECT_EQ(percent_decode("a%2fb+c"), "a/b+c");
}

TEST(PercentCoding, RefusesBadEscapes) {
  for (const char* bad : {"%", "%2", "a%2", "%zz", "%2g", "%%20", "%-1"})
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

TEST(Url, IsTakenApart) {
  struct Row {
    const char* text;
    bool tls;
    const char* host;
    int port;
    const char* prefix;
  };
  const Row rows[] = {
      {"https://example.com", true, "example.com", 443, ""},
      {"http://example.com/", false, "example.com", 80, ""},
      {"HTTPS://Example.com:6443", true, "Example.com", 6443, ""},
      {"https://10.0.0.1:6443/k8s/clusters/c-1/", true, "10.0.0.1", 6443, "/k8s/clusters/c-1"},
      {"https://[::1]:6443", true, "::1", 6443, ""},
      {"http://[fd00::1:2]/a%20b", false, "fd00::1:2", 80, "/a%20b"},
      {"http://localhost:", false, "localhost", 80, ""},
      {"https://a_b-c.d:1", true, "a_b-c.d", 1, ""},
      {"https://x///", true, "x", 443, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const auto url = parse_url(row.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->origin.tls, row.tls);
    EXPECT_EQ(url->origin.host, row.host);
    EXPECT_EQ(url->origin.port, row.port);
    EXPECT_EQ(url->prefix, row.prefix);
  }
}

TEST(Url, SaysWhatIsWrong) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "it has no scheme; write https://HOST:PORT"},
      {"example.com:6443", "it has no scheme"},
      {"ftp://x", "the scheme must be https or http"},
      {"https://", "it has no host"},
      {"https://:6443", "it has no host"},
      {"https://a b", "the host is not a DNS name or address"},
      {"https://x:0", "the port must be a number from 1 to 65535"},
      {"https://x:65536", "the port must be a number from 1 to 65535"},
      {"https://x:64a3", "the port must be a number from 1 to 65535"},
      {"https://x:-1", "the port must be a number from 1 to 65535"},
      {"https://::1:6443", "it has no host"},
      {"https://[::1", "the address has no closing bracket"},
      {"https://[example]", "there is no IPv6 address between the brackets"},
      {"https://[::1]6443", "the port must follow a colon"},
      {"https://user:secret@x", "a user or password has no place here"},
      {"https://x/?a=b", "a query or fragment has no place here"},
      {"https://x#y", "a query or fragment has no place here"},
      {"https://x/a b", "the path has a character that must be percent-encoded"},
      {"https://x/%2", "the path has a character that must be percent-encoded"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const auto url = parse_url(row.text);
    ASSERT_FALSE(url);
    EXPECT_EQ(url.error().reason, Reason::kInvalid);
    EXPECT_THAT(url.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace berth::net
