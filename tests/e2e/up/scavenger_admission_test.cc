// SPDX-License-Identifier: Apache-2.0
// What `berth up` lets in: its own webhooks, asked over HTTPS as any cluster asks them. And what
// goes on while nobody answers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "berth_up.h"
#include "kube/ours/ours.h"
#include "session.h"

namespace berth::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kHooks = "berth-scavengers";

std::string pod(std::string_view name, std::string_view spec, std::string_view metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},"spec":{{{}"containers":[{{"name":"m","image":"i","resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}})",
      name, metadata, spec);
}
std::string job(std::string_view name, std::string_view spec, std::string_view metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
      name, metadata, spec);
}

class ScavengerAdmission : public testing::Test {
 protected:
  void begin(BerthUp::Options options = {}) {
    options.flags.insert(options.flags.end(), {"--nodes", "2", "--without", "gateway"});
    auto started = BerthUp::start(options);
    ASSERT_TRUE(started) << started.error().message;
    up = *std::move(started);
    auto session = Session::open(up->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    admin = *std::move(session);
    // The pods of a namespace wait for its account.
    ASSERT_TRUE(eventually(kPatience, [&] {
      return admin->get(kube::kServiceAccount, {"default", "default"}).has_value();
    }));
  }
  void TearDown() override {
    admin.reset();
    if (up) {
      EXPECT_TRUE(up->end()) << up->log_tail();
    }
  }

  Result<kube::Object> make(kube::KindId kind, const std::string& json,
                            kube::Options options = {}) {
    return admin->create(kind, kube::kind_of(kind).namespaced ? "default" : "", json,
                         std::move(options));
  }
  std::string refusal(kube::KindId kind, const std::string& json, kube::Options options = {}) {
    const auto made = make(kind, json, std::move(options));
    return made ? "it was let in" : made.error().message;
  }
  // Somebody who may do everything, as that account.
  Result<std::unique_ptr<Session>> session_of(const std::string& ns, const std::string& account) {
    admin->create(
        kube::kServiceAccount, ns,
        fmt::format(R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"{}"}}}})",
                    account));
    admin->create(
        kube::kClusterRoleBinding, "",
        fmt::format(
            R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{{"name":"everything"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}},"subjects":[{{"kind":"ServiceAccount","namespace":"{}","name":"{}"}}]}})",
            ns, account));
    const auto token = admin->ask<std::string>([&](client::Api& api, Done<std::string> done) {
      api.raw("POST", fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token", ns, account),
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})",
              std::move(done));
    });
    if (!token) return tl::unexpected(token.error());
    const net::Origin& at = up->access().origin;
    return Session::open(
        folder.write("account.kubeconfig",
                     fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "https://{}:{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: "{}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
)",
                                 at.host, at.port, json::Slice(*token)["status"]["token"].text())));
  }
  static kube::KindId jobs() { return kube::scavenger_kinds().job; }
  // As if this process did not answer.
  void point_hooks_nowhere() {
    const auto hooks = admin->get(kube::kValidatingWebhookConfiguration, {"", kHooks});
    ASSERT_TRUE(hooks) << hooks.error().message;
    std::string patch = "[";
    for (std::size_t i = 0; i < hooks->member("webhooks").size(); ++i)
      patch += fmt::format(
          R"({}{{"op":"replace","path":"/webhooks/{}/clientConfig/url","value":"https://127.0.0.1:1/gone"}})",
          i == 0 ? "" : ",", i);
    const auto done = admin->patch(kube::kValidatingWebhookConfiguration, {"", kHooks}, patch + "]",
                                   kube::PatchType::kJson);
    ASSERT_TRUE(done) << done.error().message;
  }

  TempFolder folder;
  std::unique_ptr<BerthUp> up;
  std::unique_ptr<Session> admin;
};

TEST_F(ScavengerAdmission, R44_R45_F22_PodsBelowAreRaisedAndNobodyIsRefused) {
  begin();
  ASSERT_TRUE(make(
      kube::kPriorityClass,
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"low"},"value":-5})"));
  const auto raised = make(kube::kPod, pod("raised", R"("priorityClassName":"low",)"));
  ASSERT_TRUE(raised) << raised.error().message;
  const json::Slice spec = raised->member("spec");
  EXPECT_FALSE(spec["priorityClassName"].present());
  EXPECT_EQ(spec["priority"].integer(), 0);
  EXPECT_TRUE(spec["preemptionPolicy"].equals("PreemptLowerPriority"));
  const auto plain = make(kube::kPod, pod("plain", ""));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->member("spec")["priority"].integer(), 0);
  const auto system =
      make(kube::kPod, pod("system", R"("priorityClassName":"system-cluster-critical",)"));
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(system->member("spec")["priority"].integer(), 2'000'000'000);
}

TEST_F(ScavengerAdmission, R46_InvalidJobsAreRefusedWithTheirFieldsAndNothingIsKept) {
  begin();
  const std::string bad = job(
      "bad",
      R"("image":"i",)"
      R"("secrets":[{"name":"a","mountPath":"/d"}],"configMaps":[{"name":"b","mountPath":"/d"}])");
  const auto refused = make(jobs(), bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kInvalid) << refused.error().message;
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("spec.secrets[0].mountPath"), HasSubstr("mounted there already")));
  EXPECT_EQ(refusal(jobs(), bad, {.dry_run = true}), refused.error().message);
  EXPECT_FALSE(admin->get(jobs(), {"default", "bad"}));
  const auto good = make(jobs(), job("good", R"("image":"i")"));
  EXPECT_TRUE(good) << good.error().message;
}

TEST_F(ScavengerAdmission, AHostileUserGainsNothingAndIsToldWhy) {
  begin();
  EXPECT_THAT(refusal(kube::kPod, pod("p", R"("priorityClassName":"scavenger",)")),
              AllOf(HasSubstr("spec.priorityClassName"), HasSubstr("create a ScavengerJob")));
  EXPECT_THAT(refusal(kube::kPod, pod("p", R"("priorityClassName":"berth-ghost",)")),
              HasSubstr("Berth's own"));
  EXPECT_THAT(refusal(kube::kPod, pod("p", R"("priorityClassName":"berth-executor",)",
                                      R"(,"labels":{"berth.dev/grant":"none-1"})")),
              HasSubstr("no run in this namespace"));
  EXPECT_THAT(refusal(kube::kPod, pod("p", "", R"(,"annotations":{"berth.dev/cost":"999999999"})")),
              HasSubstr("only Berth writes this"));
  EXPECT_THAT(
      refusal(
          kube::kJob,
          R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","ownerReferences":[{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","name":"x","uid":"1","controller":true}]},"spec":{"template":{"spec":{"priorityClassName":"scavenger","restartPolicy":"Never","containers":[{"name":"m","image":"i"}]}}}})"),
      HasSubstr("spec.template.spec.priorityClassName"));
  const auto in_job = [](std::string_view pod_spec) {
    return job(
        "h",
        fmt::format(
            R"("job":{{"template":{{"spec":{{{}"restartPolicy":"Never","containers":[{{"name":"m","image":"i"}}]}}}}}})",
            pod_spec));
  };
  EXPECT_THAT(refusal(jobs(), in_job(R"("priorityClassName":"system-node-critical",)")),
              HasSubstr("spec.job"));
  EXPECT_THAT(refusal(jobs(), in_job(R"("volumes":[{"name":"r","hostPath":{"path":"/"}}],)")),
              HasSubstr("spec.job"));
  EXPECT_THAT(
      refusal(jobs(),
              job("h", R"("image":"i","secrets":[{"name":"team-b/key","mountPath":"/k"}])")),
      HasSubstr("own namespace"));
  // One that came in before anybody looked is not made dearer by what its owner writes on it.
  ASSERT_TRUE(make(kube::kPod, pod("late", "")));
  const auto late = admin->patch(
      kube::kPod, {"default", "late"},
      R"({"metadata":{"annotations":{"berth.dev/checkpoint":"2026-01-01T00:00:00Z"}}})");
  EXPECT_TRUE(late) << "programs report their checkpoints: " << late.error().message;
}

TEST_F(ScavengerAdmission, R54_AQuotaThatLeavesScavengersOutHoldsForOrdinaryPodsAlone) {
  begin();
  ASSERT_TRUE(make(
      kube::kResourceQuota,
      R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"0"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"NotIn","values":["scavenger"]}]}}})"));
  ASSERT_TRUE(eventually(kPatience, [&] {
    const auto quota = admin->get(kube::kResourceQuota, {"default", "q"});
    return quota && quota->status()["hard"].present();
  }));
  EXPECT_THAT(refusal(kube::kPod, pod("ordinary", "")), HasSubstr("exceeded quota"));
  const auto owner = make(jobs(), job("sj", R"("image":"i")"));
  ASSERT_TRUE(owner) << owner.error().message;
  // What the operator does, under a name of ours.
  const auto as_ours = session_of("kube-system", "testbed-controller");
  ASSERT_TRUE(as_ours) << as_ours.error().message;
  const auto made = (*as_ours)->create(
      kube::kJob, "default",
      fmt::format(
          R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"sj-by-hand","ownerReferences":[{{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","name":"sj","uid":"{}","controller":true}}]}},"spec":{{"template":{{"spec":{{"priorityClassName":"scavenger","restartPolicy":"Never","containers":[{{"name":"m","image":"i"}}]}}}}}}}})",
          owner->uid()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(eventually(kPatience, [&] {
    const auto pods = admin->list_all(kube::kPod, "default");
    if (!pods) return false;
    for (const kube::Object& one : pods->items)
      if (const auto by = one.controller(); by && by->name == "sj-by-hand")
        return one.member("spec")["priority"].integer() == kube::kScavengerPriority;
    return false;
  }));
}

TEST_F(ScavengerAdmission, NothingElseWaitsWhileNobodyAnswers) {
  const BerthUp::Options options{.folder = folder.path(), .data_dir = folder.path() / "data"};
  begin(options);
  ASSERT_TRUE(make(jobs(), job("held", R"("image":"i")", R"(,"finalizers":["example.com/keep"])")));
  point_hooks_nowhere();
  EXPECT_THAT(refusal(jobs(), job("new", R"("image":"i")")), HasSubstr("failed calling webhook"));
  // The schema needs nobody.
  const auto bounds = make(jobs(), job("bounds", R"("image":"i","replicas":0)"));
  ASSERT_FALSE(bounds);
  EXPECT_EQ(bounds.error().reason, Reason::kInvalid) << bounds.error().message;
  const auto pods = make(kube::kPod, pod("ordinary", ""));
  EXPECT_TRUE(pods) << pods.error().message;
  const auto status = admin->patch(jobs(), {"default", "held"}, R"({"status":{"message":"m"}})",
                                   kube::PatchType::kMerge, "status");
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_TRUE(admin->erase(jobs(), {"default", "held"}));
  const auto freed =
      admin->patch(jobs(), {"default", "held"}, R"({"metadata":{"finalizers":null}})");
  EXPECT_TRUE(freed) << freed.error().message;
  EXPECT_TRUE(eventually(kPatience, [&] { return !admin->get(jobs(), {"default", "held"}); }));
  // A start puts itself right.
  admin.reset();
  up->kill();
  up.reset();
  begin(options);
  const auto again = make(jobs(), job("new", R"("image":"i")"));
  EXPECT_TRUE(again) << again.error().message;
}

TEST_F(ScavengerAdmission, AreAskedWithoutASocketInVirtualTime) {
  begin({.flags = {"--speed", "max"}});
  EXPECT_THAT(refusal(kube::kPod, pod("p", R"("priorityClassName":"scavenger",)")),
              HasSubstr("create a ScavengerJob"));
  EXPECT_TRUE(make(jobs(), job("good", R"("image":"i")")));
}

}  // namespace
}  // namespace berth::e2e
