// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "apiserver/auth/allow_all.h"
#include "apiserver/auth/authenticator.h"
#include "apiserver/auth/object_lab.h"
#include "apiserver/auth/sha256.h"
#include "base/base64.h"

namespace berth::apiserver {
namespace {

std::string hex(const Digest& digest) {
  std::string out;
  for (const std::uint8_t byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HmacSha256, GivesTheVectorsOfRfc4231) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Allows what it is told to.
class Only final : public Authorizer {
 public:
  explicit Only(std::string what) : what_(std::move(what)) {}
  Decision authorize(const kube::User&, const Attributes& wants) override {
    return {.allowed = fmt::format("{} {}/{}/{}", wants.verb, wants.resource, wants.ns,
                                   wants.name) == what_};
  }

 private:
  std::string what_;
};

class Authentication : public testing::Test {
 protected:
  Authentication() {
    lab.put(
        R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"app","namespace":"d","uid":"u1"}})");
    lab.put(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"p1"}})");
  }
  TokenClaims claims() const {
    return {.ns = "d",
            .account = {"app", "u1"},
            .audiences = {"https://kubernetes.default.svc"},
            .issued = 1'700'000'000,
            .not_before = 1'700'000'000,
            .expires = 1'700'003'600,
            .id = "j1"};
  }
  Result<kube::User> bearer(std::string token) {
    return authenticator.authenticate({.bearer_token = std::move(token)}, lab.now);
  }
  std::string why(const std::string& token) {
    const auto known = authenticator.review(token, {}, lab.now);
    return known ? "" : known.error().message;
  }

  ObjectLab lab;
  AllowAll allow_all;
  ServiceAccountTokens tokens{"secret"};
  TokenAuthenticator authenticator{
      lab.store,
      tokens,
      allow_all,
      {.tokens = {{"letmein", {.name = "admin", .uid = "1", .groups = {"system:masters"}}}}}};
};

TEST_F(Authentication, KnowsFixedTokens) {
  const auto user = bearer("letmein");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "admin");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"system:masters", "system:authenticated"}));
  EXPECT_EQ(bearer("letmeout").error().reason, Reason::kUnauthorized);
  EXPECT_EQ(bearer("letmeout").error().message, "Unauthorized");
}

TEST_F(Authentication, KnowsServiceAccounts) {
  TokenClaims with_pod = claims();
  with_pod.pod = {{"p", "p1"}};
  with_pod.node = {{"n", ""}};
  const auto user = bearer(tokens.mint(with_pod));
  ASSERT_TRUE(user) << why(tokens.mint(with_pod));
  EXPECT_EQ(user->name, "system:serviceaccount:d:app");
  EXPECT_EQ(user->uid, "u1");
  EXPECT_EQ(user->groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:d",
                                      "system:authenticated"}));
  EXPECT_EQ(user->extra, (std::map<std::string, std::vector<std::string>>{
                             {"authentication.kubernetes.io/credential-id", {"JTI=j1"}},
                             {"authentication.kubernetes.io/node-name", {"n"}},
                             {"authentication.kubernetes.io/pod-name", {"p"}},
                             {"authentication.kubernetes.io/pod-uid", {"p1"}}}));
}

TEST_F(Authentication, RefusesTokensThatDoNotHoldAnyMore) {
  const auto changed = [&](auto change) {
    TokenClaims c = claims();
    change(c);
    return why(tokens.mint(c));
  };
  EXPECT_EQ(changed([](TokenClaims&) {}), "");
  // A minute of grace on either side.
  EXPECT_EQ(changed([](TokenClaims& c) { c.expires = 1'699'999'941; }), "");
  EXPECT_EQ(changed([](TokenClaims& c) { c.expires = 1'699'999'939; }),
            "[invalid bearer token, service account token has expired]");
  EXPECT_EQ(changed([](TokenClaims& c) { c.not_before = 1'700'000'061; }),
            "[invalid bearer token, service account token is not valid yet]");
  EXPECT_EQ(changed([](TokenClaims& c) { c.account.uid = "u0"; }),
            "[invalid bearer token, service account UID (u1) does not match claim (u0)]");
  EXPECT_EQ(changed([](TokenClaims& c) { c.account.name = "none"; }),
            R"([invalid bearer token, serviceaccounts "none" not found])");
  EXPECT_EQ(
      changed([](TokenClaims& c) {
        c.pod = {{"p", "p0"}};
      }),
      "[invalid bearer token, pod UID (p1) does not match service account pod ref claim (p0)]");
  EXPECT_EQ(changed([](TokenClaims& c) {
              c.secret = {{"s", "s0"}};
            }),
            "[invalid bearer token, service account token has been invalidated]");
  EXPECT_EQ(
      changed([](TokenClaims& c) {
        c.audiences = {"other", "x"};
      }),
      R"([invalid bearer token, token audiences ["other" "x"] is invalid for the target audiences ["https://kubernetes.default.svc"]])");
}

TEST_F(Authentication, RefusesTokensThatSomebodyElseSignedOrNobody) {
  EXPECT_NE(why(ServiceAccountTokens("other").mint(claims())), "");
  const std::string good = tokens.mint(claims());
  const std::string payload = good.substr(good.find('.') + 1, good.rfind('.') - good.find('.') - 1);
  EXPECT_NE(why(base64url(R"({"alg":"none"})") + "." + payload + "."), "");
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(bearer(bad)) << i;
  }
  for (const char* junk : {"a", "a.b", "a.b.c", "..", "....", "eyJ9.e30.e30"})
    EXPECT_EQ(why(junk), "invalid bearer token") << junk;
}

TEST_F(Authentication, TellsWhichOfTheAudiencesATokenIsFor) {
  TokenClaims c = claims();
  c.audiences = {"other", "x"};
  const auto known = authenticator.review(tokens.mint(c), {"x", "y"}, lab.now);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->audiences, std::vector<std::string>{"x"});
}

TEST_F(Authentication, KnowsCertificatesAndNobody) {
  const auto user =
      authenticator.authenticate({.common_name = "jane", .organizations = {"dev"}}, lab.now);
  EXPECT_EQ(user->name, "jane");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"dev", "system:authenticated"}));
  const auto nobody = authenticator.authenticate({}, lab.now);
  EXPECT_EQ(nobody->name, "system:anonymous");
  EXPECT_EQ(nobody->groups, std::vector<std::string>{"system:unauthenticated"});
  TokenAuthenticator closed(lab.store, tokens, allow_all, {.anonymous = false});
  EXPECT_EQ(closed.authenticate({}, lab.now).error().reason, Reason::kUnauthorized);
}

TEST_F(Authentication, LetsThoseActForOthersWhoMay) {
  const Credentials admin{.bearer_token = "letmein"};
  Credentials as = admin;
  as.as_user = "jane";
  as.as_groups = {"dev"};
  const auto jane = authenticator.authenticate(as, lab.now);
  EXPECT_EQ(jane->name, "jane");
  EXPECT_EQ(jane->groups, (std::vector<std::string>{"dev", "system:authenticated"}));

  as = admin;
  as.as_user = "system:serviceaccount:d:app";
  EXPECT_EQ(authenticator.authenticate(as, lab.now)->groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:d",
                                      "system:authenticated"}));
  as.as_user = "system:anonymous";
  EXPECT_EQ(authenticator.authenticate(as, lab.now)->groups,
            std::vector<std::string>{"system:unauthenticated"});
  as.as_user = "";
  as.as_groups = {"dev"};
  EXPECT_EQ(
      authenticator.authenticate(as, lab.now).error().message,
      R"(requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name)");

  as.as_user = "jane";
  as.as_extra = {{"scopes", {"view"}}};
  EXPECT_EQ(authenticator.authenticate(as, lab.now)->extra, as.as_extra);

  Only users("impersonate users//jane");
  TokenAuthenticator strict(lab.store, tokens, users, {.tokens = {{"t", {.name = "bob"}}}});
  EXPECT_TRUE(strict.authenticate({.bearer_token = "t", .as_user = "jane"}, lab.now));
  EXPECT_EQ(
      strict.authenticate({.bearer_token = "t", .as_user = "jane", .as_groups = {"dev"}}, lab.now)
          .error()
          .message,
      R"(groups "dev" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope)");
  EXPECT_EQ(
      strict
          .authenticate({.bearer_token = "t", .as_user = "jane", .as_extra = {{"scopes", {"all"}}}},
                        lab.now)
          .error()
          .message,
      R"(userextras.authentication.k8s.io "all" is forbidden: User "bob" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope)");
}

}  // namespace
}  // namespace berth::apiserver
