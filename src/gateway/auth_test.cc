// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth.h"

#include <gmock/gmock.h>

#include "base/base64.h"
#include "gateway/lab_for_test.h"

namespace berth::gateway {
namespace {

const Access kList{.verb = "list", .group = "g", .resource = "pods", .ns = "default"};
const Access kCreate{.verb = "create", .group = "g", .resource = "pods", .ns = "default"};

std::string web_token(std::int64_t end) {
  return "h." + base64url(fmt::format(R"({{"exp":{}}})", end)) + ".s";
}

class AuthTest : public testing::Test {
 protected:
  AuthTest() { lab.api.rights = {"alice list pods default", "alice create pods default"}; }
  Result<Identity> who(Proof proof) {
    Result<Identity> answer = fail(Reason::kUnknown, "no answer");
    auth.who(proof, lab.scope.done<Identity>(kNoLimit,
                                             [&](Result<Identity> r) { answer = std::move(r); }));
    lab.settle();
    return answer;
  }
  Result<Ok> may(const Identity& identity, const Access& access) {
    Result<Ok> answer = fail(Reason::kUnknown, "no answer");
    auth.may(identity, access, lab.scope.done<Ok>(kNoLimit, [&](Result<Ok> r) { answer = r; }));
    lab.settle();
    return answer;
  }
  std::int64_t seconds() { return lab.world.clock().wall().unix_nanos / 1'000'000'000; }
  int& token_reviews() { return lab.api.calls["TokenReview"]; }
  int& access_reviews() { return lab.api.calls["SubjectAccessReview"]; }

  GatewayLab lab;
  Auth& auth = lab.gateway->auth();
};

TEST_F(AuthTest, ESI_127_AValidTokenIsKnownForAMinuteAndAnInvalidOneForTenSeconds) {
  EXPECT_EQ(who({.token = "alices"})->user.name, "alice");
  EXPECT_FALSE(who({.token = "nobodys"}));
  EXPECT_EQ(token_reviews(), 2);
  lab.world.run_for(9s);
  EXPECT_TRUE(who({.token = "alices"}));
  EXPECT_FALSE(who({.token = "nobodys"}));
  EXPECT_EQ(token_reviews(), 2);
  lab.api.users = {{"nobodys", "bob"}};
  lab.world.run_for(2s);
  EXPECT_EQ(who({.token = "nobodys"})->user.name, "bob");
  lab.world.run_for(50s);
  EXPECT_FALSE(who({.token = "alices"}));
}

TEST_F(AuthTest, ESI_127_ATokenIsNeverGoodPastItsEnd) {
  const std::string token = web_token(seconds() + 5);
  lab.api.users[token] = "alice";
  EXPECT_TRUE(who({.token = token}));
  lab.world.run_for(5s);
  EXPECT_FALSE(who({.token = token}));
  EXPECT_EQ(token_reviews(), 1);
}

TEST_F(AuthTest, WhoAsksAtTheSameTimeSharesOneReview) {
  int answers = 0;
  for (int i = 0; i < 10; ++i)
    auth.who({.token = "alices"},
             lab.scope.done<Identity>(kNoLimit, [&](Result<Identity> r) { answers += r ? 1 : 0; }));
  lab.settle();
  EXPECT_EQ(answers, 10);
  EXPECT_EQ(token_reviews(), 1);
}

TEST_F(AuthTest, AServerThatIsAwaySaysNothingAboutAToken) {
  lab.api.away = true;
  EXPECT_EQ(who({.token = "alices"}).error().reason, Reason::kServiceUnavailable);
  lab.api.away = false;
  EXPECT_TRUE(who({.token = "alices"}));
}

TEST_F(AuthTest, ACertificateSaysItself) {
  const auto identity = who({.certificate = net::PeerIdentity{
                                 .common_name = "eve", .organizations = {"ops"}, .sha256 = "ab"}});
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->user.name, "eve");
  EXPECT_THAT(identity->user.groups, testing::ElementsAre("ops", "system:authenticated"));
  EXPECT_EQ(token_reviews(), 0);
}

TEST_F(AuthTest, ESI_127_ReadsAreRememberedForTenSecondsAndWritesAreAskedAfresh) {
  const Identity alice = *who({.token = "alices"});
  EXPECT_TRUE(may(alice, kList));
  EXPECT_TRUE(may(alice, kList));
  EXPECT_EQ(access_reviews(), 1);
  EXPECT_TRUE(may(alice, kCreate));
  lab.api.rights.clear();
  EXPECT_FALSE(may(alice, kCreate));
  EXPECT_TRUE(may(alice, kList));
  lab.world.run_for(10s);
  const auto refused = may(alice, kList);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            R"(pods.g is forbidden: User "alice" cannot list resource "pods" in API group "g" in )"
            R"(the namespace "default")");
}

TEST_F(AuthTest, AReviewCarriesAllThatIsKnownOfTheCaller) {
  may({.user = {.name = "u", .uid = "1", .groups = {"a", "b"}, .extra = {{"k", {"v"}}}}},
      {.verb = "update",
       .group = "g",
       .resource = "r",
       .subresource = "s",
       .ns = "n",
       .name = "m"});
  EXPECT_EQ(lab.api.asked_about,
            R"({"user":"u","uid":"1","groups":["a","b"],"extra":{"k":["v"]},)"
            R"("resourceAttributes":{"namespace":"n","verb":"update","group":"g","resource":"r",)"
            R"("subresource":"s","name":"m"}})");
}

TEST_F(AuthTest, ESI_127_WhatIsKeptIsBounded) {
  for (int i = 0; i < 3000; ++i) who({.token = fmt::format("t{}", i)});
  EXPECT_LE(auth.kept(), 1024U);
}

class GuardTest : public AuthTest {
 protected:
  std::unique_ptr<Auth::Guard> guard(const std::string& token, std::vector<Access> accesses) {
    const Proof proof{.token = token};
    return auth.guard(proof, *who(proof), std::move(accesses),
                      [this](const Error& error) { ended.push_back(error.reason); });
  }
  std::vector<Reason> ended;
};

TEST_F(GuardTest, ESI_127_AWithdrawnTokenEndsItsStreamsWithinAMinute) {
  const auto one = guard("alices", {kList}), two = guard("alices", {kList});
  lab.world.run_for(100s);
  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(token_reviews(), 1 + 3);  // one a token, not one a stream
  lab.api.users.clear();
  lab.world.run_for(60s);
  EXPECT_THAT(ended, testing::ElementsAre(Reason::kUnauthorized, Reason::kUnauthorized));
}

TEST_F(GuardTest, ESI_127_AWithdrawnRightEndsWhatNeedsIt) {
  const auto one = guard("alices", {kList}), two = guard("alices", {kCreate});
  lab.api.rights.erase("alice list pods default");
  lab.world.run_for(60s);
  EXPECT_THAT(ended, testing::ElementsAre(Reason::kForbidden));
}

TEST_F(GuardTest, ESI_127_AnExpiredTokenEndsItsStreamsWithinAMinute) {
  const std::string token = web_token(seconds() + 10);
  lab.api.users[token] = "alice";
  const auto one = guard(token, {kList});
  lab.world.run_for(60s);
  EXPECT_THAT(ended, testing::ElementsAre(Reason::kUnauthorized));
}

TEST_F(GuardTest, StreamsStayForAWhileWhenNobodyCanBeAsked) {
  const auto one = guard("alices", {kList});
  lab.api.away = true;
  lab.world.run_for(4min);
  EXPECT_TRUE(ended.empty());
  lab.world.run_for(2min);
  EXPECT_THAT(ended, testing::ElementsAre(Reason::kUnauthorized));
}

TEST_F(GuardTest, WhatIsDroppedIsNotAskedAboutAnyMore) {
  guard("alices", {kList}).reset();
  lab.world.run_for(5min);
  EXPECT_EQ(token_reviews(), 1);
  EXPECT_TRUE(ended.empty());
}

TEST(Credentials, ATokenIsFoundWhereACallerCanPutIt) {
  const auto in = [](std::string name, std::string value) {
    net::Headers headers;
    headers.add(std::move(name), std::move(value));
    return proof_of(headers, {}).token;
  };
  EXPECT_EQ(in("Authorization", "Bearer abc"), "abc");
  EXPECT_EQ(in("Authorization", "bearer  abc "), "abc");
  EXPECT_EQ(in("Authorization", "Basic abc"), "");
  EXPECT_EQ(in("Authorization", "Bearer"), "");
  const std::string protocol = "base64url.bearer.authorization.k8s.io." + base64url("t?o>k");
  EXPECT_EQ(in("Sec-WebSocket-Protocol", "v12.stomp, " + protocol), "t?o>k");
  EXPECT_EQ(in("Sec-WebSocket-Protocol", protocol), "");  // nothing to answer with
  EXPECT_EQ(in("Sec-WebSocket-Protocol", protocol + ",v12.stomp," + protocol), "");
  EXPECT_EQ(in("Sec-WebSocket-Protocol", "v12.stomp, base64url.bearer.authorization.k8s.io.*"), "");
  net::Headers broken;
  broken.add("Sec-WebSocket-Protocol", protocol);
  EXPECT_TRUE(proof_of(broken, {}).broken);
  EXPECT_FALSE(proof_of(broken, {}).empty());
}

TEST(Credentials, TheEndOfATokenIsReadFromWebTokensOnly) {
  EXPECT_EQ(token_end(web_token(1'800'000'000)), WallTime{1'800'000'000'000'000'000});
  for (const char* other : {"", "abc", "a.b", "a.b.c", "a.!.c", "a.e30.c", "a.e30.c.d"})
    EXPECT_EQ(token_end(other), std::nullopt) << other;
  EXPECT_EQ(token_end(web_token(-1)), std::nullopt);
}

}  // namespace
}  // namespace berth::gateway
