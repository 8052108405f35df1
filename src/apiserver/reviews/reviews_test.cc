// SPDX-License-Identifier: Apache-2.0
#include "apiserver/reviews/reviews.h"

#include <gmock/gmock.h>

#include "apiserver/admission/bootstrap.h"
#include "apiserver/serve/test_server.h"

namespace berth::apiserver {
namespace {

class Reviews : public testing::Test {
 protected:
  Reviews() {
    write_bootstrap(test.store(), bootstrap_objects({}), test.world.clock().wall(),
                    [] { return "00000000-0000-4000-8000-000000000001"; });
    test.world.run_until_idle(1h);
    register_reviews(test.server(),
                     {authenticator, tokens, rbac, &rbac, test.world.clock(), Random(1)});
    EXPECT_TRUE(test.create(kube::kServiceAccount, "default", R"({"metadata":{"name":"app"}})"));
    EXPECT_TRUE(test.create(
        kube::kPod, "default",
        R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"app","containers":[{"name":"c","image":"i"}]}})"));
  }
  // The reply as text, or the error's.
  std::string ask(kube::KindId kind, std::string_view json, kube::User user = {},
                  std::string ns = "") {
    kube::ApiRequest request =
        TestServer::ask(kube::Verb::kCreate, kind, {std::move(ns), ""}, json);
    request.user = std::move(user);
    const auto object = test.object(std::move(request));
    return object ? object->json() : object.error().message;
  }
  Result<kube::Object> token(std::string_view spec, std::string name = "app") {
    kube::ApiRequest request =
        TestServer::ask(kube::Verb::kCreate, kube::kServiceAccount, {"default", std::move(name)},
                        fmt::format(R"({{"spec":{}}})", spec));
    request.subresource = "token";
    return test.object(std::move(request));
  }

  TestServer test;
  ServiceAccountTokens tokens{"secret"};
  Rbac rbac{test.store()};
  TokenAuthenticator authenticator{
      test.store(),
      tokens,
      rbac,
      {.tokens = {{"golden", {.name = "admin", .uid = "1", .groups = {"system:masters"}}}}}};
  kube::User sa = service_account_user("default", "app", "x");
};

TEST_F(Reviews, ATokenRequestGivesATokenThatTheServerKnows) {
  const auto given = token(R"({"expirationSeconds":600})");
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(
      given->member("spec").raw(),
      R"({"audiences":["https://kubernetes.default.svc"],"expirationSeconds":600,"boundObjectRef":null})");
  EXPECT_EQ(given->name(), "app");
  const auto user = authenticator.authenticate({.bearer_token = given->status()["token"].text()},
                                               test.world.clock().wall());
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:serviceaccount:default:app");
}

TEST_F(Reviews, ATokenEndsWithItsPod) {
  const auto given = token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})");
  ASSERT_TRUE(given) << given.error().message;
  const Credentials shown{.bearer_token = given->status()["token"].text()};
  EXPECT_TRUE(authenticator.authenticate(shown, test.world.clock().wall()));
  EXPECT_TRUE(test.erase(kube::kPod, {"default", "p"}, {.grace_period_seconds = 0}));
  EXPECT_FALSE(authenticator.authenticate(shown, test.world.clock().wall()));
}

TEST_F(Reviews, ATokenOfAPodsOwnVolumeHoldsForAYear) {
  const auto given = token(
      R"({"expirationSeconds":3607,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})");
  ASSERT_TRUE(given);
  const auto claims = tokens.read(given->status()["token"].text());
  EXPECT_EQ(claims->expires - claims->issued, 365 * 24 * 3600);
  EXPECT_EQ(claims->warn_after - claims->issued, 3607);
}

struct TokenRow {
  const char* name;
  const char* account;
  const char* spec;
  const char* text;
};
class BadTokenRequests : public Reviews, public testing::WithParamInterface<TokenRow> {};

TEST_P(BadTokenRequests, AreRefusedInTheRealServersWords) {
  const auto given = token(GetParam().spec, GetParam().account);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().message, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    , BadTokenRequests,
    testing::Values(
        TokenRow{
            "TooShort", "app", R"({"expirationSeconds":60})",
            R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes)"},
        TokenRow{
            "TooLong", "app", R"({"expirationSeconds":8589934592})",
            R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 8589934592: may not specify a duration larger than 2^32 seconds)"},
        TokenRow{"NoAccount", "none", R"({})", R"(serviceaccounts "none" not found)"},
        TokenRow{"NoPod", "app",
                 R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"nopod"}})",
                 R"(pods "nopod" not found)"},
        TokenRow{"NotBindable", "app",
                 R"({"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"x"}})",
                 "cannot bind token to object of type /v1, Kind=ConfigMap"},
        TokenRow{
            "AnotherPod", "app",
            R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"xx"}})",
            R"(Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (xx) does not match the UID in record. The object might have been deleted and then recreated)"}),
    [](const auto& each) { return each.param.name; });

TEST_F(Reviews, ATokenReviewTellsWhoItIs) {
  EXPECT_EQ(
      ask(kube::kTokenReview, R"({"spec":{"token":"golden"}})"),
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"golden"},"status":{"authenticated":true,"user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},"audiences":["https://kubernetes.default.svc"]}})");
  EXPECT_EQ(
      ask(kube::kTokenReview, R"({"spec":{"token":"nope"}})"),
      R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"nope"},"status":{"user":{},"error":"invalid bearer token"}})");
  EXPECT_EQ(ask(kube::kTokenReview, R"({"spec":{}})"),
            "token is required for TokenReview in authentication");
}

TEST_F(Reviews, ASelfSubjectReviewTellsWhoIAm) {
  EXPECT_THAT(ask(kube::kSelfSubjectReview, "{}", {.name = "jane", .groups = {"dev"}}),
              testing::HasSubstr(R"("status":{"userInfo":{"username":"jane","groups":["dev"]}})"));
}

TEST_F(Reviews, AccessReviewsTellWhatSomebodyMay) {
  EXPECT_EQ(
      ask(kube::kSubjectAccessReview,
          R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}})"),
      R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}},"status":{"allowed":false}})");
  EXPECT_THAT(
      ask(kube::kSubjectAccessReview,
          R"({"spec":{"groups":["system:masters"],"resourceAttributes":{"verb":"get","resource":"pods"}}})"),
      testing::HasSubstr(R"("status":{"allowed":true}})"));
  EXPECT_THAT(
      ask(kube::kSelfSubjectAccessReview,
          R"({"spec":{"nonResourceAttributes":{"verb":"get","path":"/version"}}})",
          {.name = "x", .groups = {"system:authenticated"}}),
      testing::HasSubstr(
          R"("status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\""}})"));
  EXPECT_THAT(
      ask(kube::kLocalSubjectAccessReview,
          R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods","namespace":"default"}}})",
          {}, "default"),
      testing::HasSubstr(R"("metadata":{"namespace":"default"})"));
}

TEST_F(Reviews, BadAccessReviewsAreRefusedInTheRealServersWords) {
  EXPECT_EQ(
      ask(kube::kSubjectAccessReview, R"({"spec":{}})"),
      R"(.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified])");
  EXPECT_EQ(
      ask(kube::kSubjectAccessReview,
          R"({"spec":{"user":"j","resourceAttributes":{"verb":"get"},"nonResourceAttributes":{"verb":"get","path":"/x"}}})"),
      R"(.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes)");
  EXPECT_EQ(
      ask(kube::kLocalSubjectAccessReview,
          R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods","namespace":"other"}}})",
          {}, "default"),
      R"(.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace)");
}

TEST_F(Reviews, ARulesReviewTellsWhatIMay) {
  sa.groups.push_back("system:authenticated");
  EXPECT_EQ(
      ask(kube::kSelfSubjectRulesReview, R"({"spec":{"namespace":"default"}})", sa),
      R"({"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},"status":{"resourceRules":[{"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"]},{"verbs":["create"],"apiGroups":["authentication.k8s.io"],"resources":["selfsubjectreviews"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/openapi","/openapi/*","/readyz","/version","/version/"]},{"verbs":["get"],"nonResourceURLs":["/healthz","/livez","/readyz","/version","/version/"]},{"verbs":["get"],"nonResourceURLs":["/.well-known/openid-configuration","/.well-known/openid-configuration/","/openid/v1/jwks","/openid/v1/jwks/"]}],"incomplete":false}})");
  EXPECT_EQ(ask(kube::kSelfSubjectRulesReview, R"({"spec":{}})"), "no namespace on request");
}

}  // namespace
}  // namespace berth::apiserver
