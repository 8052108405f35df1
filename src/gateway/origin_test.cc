// SPDX-License-Identifier: Apache-2.0
#include "gateway/origin.h"

#include <gtest/gtest.h>

namespace berth::gateway {
namespace {

net::Headers from(std::string host, std::string origin = "") {
  net::Headers headers;
  if (!host.empty()) headers.add("Host", std::move(host));
  if (!origin.empty()) headers.add("Origin", std::move(origin));
  return headers;
}

TEST(Origin, ESI_127_NamesThatAreNotOursAreRefusedAsDnsRebindingNeedsThem) {
  const OriginRules rules{.hosts = {"berth.example"}};
  for (const char* good : {"127.0.0.1:80", "localhost", "LOCALHOST:1", "[::1]:80", "127.9.9.9",
                           "berth.example", "Berth.Example:443"})
    EXPECT_TRUE(check_origin(rules, from(good))) << good;
  for (const char* bad : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                          "[", "[::2]:80", "10.0.0.1", "xberth.example"})
    EXPECT_FALSE(check_origin(rules, from(bad))) << bad;
  EXPECT_TRUE(check_origin({.hosts = {"*"}}, from("anything")));
}

TEST(Origin, ESI_127_OnlyOurOwnPagesAndListedOnesMayCall) {
  const OriginRules rules{.origins = {"http://localhost:4200"}};
  EXPECT_TRUE(check_origin(rules, from("localhost:80", "http://localhost:80")));
  EXPECT_TRUE(check_origin(rules, from("localhost:80", "http://localhost:4200")));
  for (const char* bad : {"null", "http://localhost:81", "https://localhost:80",
                          "http://evil.example", "http://localhost:42001"})
    EXPECT_FALSE(check_origin(rules, from("localhost:80", bad))) << bad;
  EXPECT_TRUE(check_origin({.tls = true}, from("localhost:80", "https://localhost:80")));
}

TEST(Origin, ESI_127_NoOpenCors) {
  net::Headers none, listed, other;
  allow_origin({}, from("localhost", "http://localhost:4200"), none);
  EXPECT_TRUE(none.items().empty());
  const OriginRules rules{.origins = {"http://localhost:4200"}};
  allow_origin(rules, from("localhost", "http://localhost:4200"), listed);
  EXPECT_EQ(listed.get("Access-Control-Allow-Origin"), "http://localhost:4200");
  allow_origin(rules, from("localhost", "http://localhost"), other);
  EXPECT_FALSE(other.has("Access-Control-Allow-Origin"));
  EXPECT_EQ(other.get("Vary"), "Origin");
}

}  // namespace
}  // namespace berth::gateway
