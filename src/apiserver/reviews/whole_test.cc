// SPDX-License-Identifier: Apache-2.0
// The server with all of its admission, as a cluster has it.
#include <gmock/gmock.h>

#include "apiserver/admission/bootstrap.h"
#include "apiserver/admission/webhooks.h"
#include "apiserver/serve/test_server.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kPod =
    R"({"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

class WholeServer : public testing::Test {
 protected:
  WholeServer() {
    write_bootstrap(test.store(), bootstrap_objects({}), test.world.clock().wall(),
                    [] { return "00000000-0000-4000-8000-000000000001"; });
    test.world.run_until_idle(1h);
    test.admission.steps = default_steps(test.store(), test.authorizer, Random(1), &rbac);
    test.admission.webhooks = std::make_unique<ClusterWebhooks>(
        test.scope(), test.store(), test.kinds, caller, Random(2), test.admission.steps);
  }
  ~WholeServer() override { test.admission = {}; }

  void account(std::string ns) {
    ASSERT_TRUE(
        test.create(kube::kServiceAccount, std::move(ns), R"({"metadata":{"name":"default"}})"));
  }
  std::string used(std::string_view name) {
    return std::string(
        test.store().get(kube::kResourceQuota, {"default", name})->status()["used"].raw());
  }

  TestServer test;
  Rbac rbac{test.store()};
  LocalWebhookCaller caller;
};

TEST_F(WholeServer, APodWaitsALittleForItsNamespacesAccount) {
  const auto answer =
      test.start(TestServer::ask(kube::Verb::kCreate, kube::kPod, {"default", ""}, kPod));
  test.world.run_until_idle(300ms);
  EXPECT_FALSE(answer->has_value());
  account("default");
  test.world.run_until_idle(2s);
  ASSERT_TRUE(answer->has_value());
  EXPECT_TRUE(answer->value().has_value());
}

TEST_F(WholeServer, APodWhoseAccountNeverComesIsRefused) {
  const auto answer =
      test.call(TestServer::ask(kube::Verb::kCreate, kube::kPod, {"default", ""}, kPod), 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(
      answer.error().message,
      R"(pods "web-" is forbidden: error looking up service account default/default: serviceaccount "default" not found)");
}

TEST_F(WholeServer, APodGoesThroughAllSteps) {
  account("default");
  const auto pod = test.create(kube::kPod, "default", kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  const json::Slice spec = pod->member("spec");
  EXPECT_EQ(spec["serviceAccountName"].text(), "default");
  EXPECT_EQ(spec["priority"].integer(), 0);
  EXPECT_EQ(spec["tolerations"].size(), 2U);
  EXPECT_EQ(spec["volumes"].size(), 1U);
  EXPECT_FALSE(test.create(kube::kPod, "nowhere", kPod));
}

TEST_F(WholeServer, AServiceGetsItsAddress) {
  const auto service =
      test.create(kube::kService, "default",
                  R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_THAT(service->member("spec")["clusterIP"].text(), testing::StartsWith("10.96."));
  EXPECT_EQ(service->member("spec")["clusterIPs"].size(), 1U);
  EXPECT_GE(service->member("spec")["ports"][std::size_t{0}]["nodePort"].integer(), 30000);
  EXPECT_EQ(service->member("spec")["ipFamilies"].raw(), R"(["IPv4"])");
}

TEST_F(WholeServer, AQuotaReservesNothingForWhatAWebhookRefuses) {
  account("default");
  ASSERT_TRUE(test.create(kube::kResourceQuota, "default",
                          R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}}})"));
  ASSERT_TRUE(test.patch(kube::kResourceQuota, {"default", "q"},
                         R"({"status":{"hard":{"pods":"1"},"used":{"pods":"0"}}})",
                         kube::PatchType::kMerge, "status"));
  ASSERT_TRUE(test.create(
      kube::kValidatingWebhookConfiguration, "",
      R"({"metadata":{"name":"v"},"webhooks":[{"name":"v.example.com","clientConfig":{"url":"https://v.example.com/"},"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"));
  bool allowed = false;
  caller.handle("https://v.example.com/", [&](std::string_view review) {
    return fmt::format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":{},"allowed":{}}}}})",
        json::Slice(review)["request"]["uid"].raw(), allowed);
  });
  EXPECT_FALSE(test.create(kube::kPod, "default", kPod));
  EXPECT_THAT(used("q"), testing::StartsWith(R"({"pods":"0"})"));
  allowed = true;
  EXPECT_TRUE(test.create(kube::kPod, "default", kPod));
  EXPECT_THAT(used("q"), testing::StartsWith(R"({"pods":"1"})"));
  const auto third = test.create(kube::kPod, "default", kPod);
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().message, testing::HasSubstr("exceeded quota: q, requested: pods=1, "
                                                        "used: pods=1, limited: pods=1"));
}

}  // namespace
}  // namespace berth::apiserver
