// SPDX-License-Identifier: Apache-2.0
// `berth controllers` answering a real kube-apiserver, with the rights that `berth install` prints
// and no others: certificates, webhook objects, verdicts, what goes on without it, and its removal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/base64.h"
#include "json/yaml.h"
#include "kube/ours/ours.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string pod(std::string_view name, std::string_view spec, std::string_view metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},"spec":{{{}"containers":[{{"name":"m","image":"i"}}]}}}})",
      name, metadata, spec);
}
std::string job(std::string_view name, std::string_view spec, std::string_view metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
      name, metadata, spec);
}

class Webhooks : public SharedPlane {
 protected:
  std::string ran(std::vector<std::string> args, const std::string& log, int code = 0) {
    const auto path = plane().folder().path() / log;
    auto child =
        Child::start({.program = BERTH_BERTH, .args = std::move(args), .env = {}, .log = path});
    EXPECT_TRUE(child && (*child)->wait(std::chrono::seconds(60)));
    EXPECT_EQ((*child)->exit_code(), code) << (*child)->log();
    return (*child)->log();
  }
  // What berth install prints, applied; kubectl is not needed for that.
  void install() {
    const auto documents = json::yaml_to_json(ran({"install"}, "install.yaml"));
    ASSERT_TRUE(documents) << documents.error().message;
    for (const json::YamlDocument& document : *documents) {
      const auto object = kube::Object::parse(document.json);
      ASSERT_TRUE(object) << document.json;
      const auto applied =
          admin().patch(object->kind(), object->key(), object->json(), kube::PatchType::kApply, "",
                        {.force = true, .field_manager = "berth-install"});
      ASSERT_TRUE(applied) << object->key().text() << ": " << applied.error().message;
    }
    ASSERT_TRUE(soon([&] { return admin().list_all(jobs(), ns()).has_value(); }));
  }
  std::string kubeconfig_of_controllers() {
    const auto reply = admin().ask<std::string>([](client::Api& api, Done<std::string> done) {
      api.raw("POST", "/api/v1/namespaces/berth-system/serviceaccounts/berth-controllers/token",
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})",
              std::move(done));
    });
    EXPECT_TRUE(reply) << reply.error().message;
    return plane()
        .folder()
        .write("controllers.kubeconfig",
               fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: "{}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
)",
                           plane().url(), json::Slice(*reply)["status"]["token"].text()))
        .string();
  }
  std::unique_ptr<Child> controllers(const std::string& kubeconfig, const std::string& log) {
    auto child = Child::start(
        {.program = BERTH_BERTH,
         .args = {"controllers", "--kubeconfig", kubeconfig, "--secure-port", "0",
                  "--leader-elect-resource-namespace", "berth-system", "--webhook-port", "0",
                  "--webhook-address", "127.0.0.1", "--webhook-host", "127.0.0.1"},
         .env = {},
         .log = plane().folder().path() / log});
    EXPECT_TRUE(child) << child.error().message;
    return *std::move(child);
  }
  static void stop(Child& child) {
    child.signal(SIGTERM);
    ASSERT_TRUE(child.wait(std::chrono::seconds(30)));
    EXPECT_THAT(child.log(), Not(HasSubstr("forbidden")));
  }
  static bool soon(const std::function<bool()>& holds) {
    return eventually(std::chrono::seconds(150), holds);
  }
  std::string refusal(kube::KindId kind, const std::string& json, kube::Options options = {}) {
    const auto made = admin().create(kind, ns(), json, std::move(options));
    return made ? "it was let in" : made.error().message;
  }
  // Refused by the webhook, which therefore answers and is trusted.
  bool answered() {
    return refusal(jobs(), job("a.b", R"("image":"i")"), {.dry_run = true}).find("metadata.name") !=
           std::string::npos;
  }
  static kube::KindId jobs() { return kube::scavenger_kinds().job; }
};

TEST_F(Webhooks, AnswerARealServerWithTheRightsThatInstallPrints) {
  EXPECT_THAT(ran({"install", "--check", "--kubeconfig", plane().kubeconfig().string()},
                  "check-before.log"),
              AllOf(HasSubstr("Deployment berth-system/berth-controllers is new"),
                    HasSubstr(" 0 conflicts")));
  install();
  const std::string kubeconfig = kubeconfig_of_controllers();
  auto running = controllers(kubeconfig, "controllers.log");
  ASSERT_TRUE(soon([&] { return answered(); })) << running->log();

  // R44, F22: no 403, whatever the server's own step has made of the class before.
  ASSERT_TRUE(admin().create(
      kube::kPriorityClass, "",
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"low"},"value":-5})"));
  const auto raised =
      admin().create(kube::kPod, ns(), pod("raised", R"("priorityClassName":"low",)"));
  ASSERT_TRUE(raised) << raised.error().message;
  EXPECT_EQ(raised->member("spec")["priority"].integer(), 0);
  EXPECT_FALSE(raised->member("spec")["priorityClassName"].present());

  // R46, and a hostile user.
  EXPECT_THAT(
      refusal(jobs(), job("x", R"("image":"i","secrets":[{"name":"b/c","mountPath":"/d"}])")),
      HasSubstr("spec.secrets[0].name"));
  EXPECT_THAT(refusal(kube::kPod, pod("p", R"("priorityClassName":"scavenger",)")),
              HasSubstr("create a ScavengerJob"));
  EXPECT_THAT(refusal(kube::kPod, pod("p", "", R"(,"annotations":{"berth.dev/cost":"9"})")),
              HasSubstr("only Berth writes this"));
  EXPECT_TRUE(admin().create(kube::kPod, ns(), pod("plain", "")));
  const auto held = admin().create(
      jobs(), ns(), job("held", R"("image":"i")", R"(,"finalizers":["example.com/keep"])"));
  ASSERT_TRUE(held) << held.error().message;

  // While it is away.
  stop(*running);
  EXPECT_THAT(refusal(jobs(), job("y", R"("image":"i")")), HasSubstr("failed calling webhook"));
  EXPECT_TRUE(admin().create(kube::kPod, ns(), pod("ordinary", "")));
  EXPECT_TRUE(admin().patch(jobs(), key("held"), R"({"status":{"message":"m"}})",
                            kube::PatchType::kMerge, "status"));
  EXPECT_TRUE(admin().erase(jobs(), key("held")));
  EXPECT_TRUE(admin().patch(jobs(), key("held"), R"({"metadata":{"finalizers":null}})"));
  EXPECT_TRUE(soon([&] { return !admin().get(jobs(), key("held")); }));

  // Another start, on another port, with the certificate that is there.
  const auto before = admin().get(kube::kSecret, {"berth-system", "berth-webhook-tls"});
  ASSERT_TRUE(before);
  running = controllers(kubeconfig, "controllers-again.log");
  ASSERT_TRUE(soon([&] { return answered(); })) << running->log();
  const auto after = admin().get(kube::kSecret, {"berth-system", "berth-webhook-tls"});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->revision(), before->revision());

  // It is renewed when it is due, and trusted all the time.
  ASSERT_TRUE(admin().patch(
      kube::kSecret, {"berth-system", "berth-webhook-tls"},
      R"({"metadata":{"annotations":{"berth.dev/renew-at":"2020-01-01T00:00:00Z"}}})"));
  bool always = true;
  const auto served = [](const Result<kube::Object>& secret) {
    return secret ? secret->member("data")["tls.crt"].text() : std::string();
  };
  EXPECT_TRUE(soon([&] {
    always = always && answered();
    const auto now = admin().get(kube::kSecret, {"berth-system", "berth-webhook-tls"});
    return !served(now).empty() && served(now) != served(before);
  })) << running->log();
  always = always && answered();
  EXPECT_TRUE(always);

  // Gone, without a trace that would be in the way.
  EXPECT_THAT(ran({"install", "--remove", "--kubeconfig", plane().kubeconfig().string()},
                  "remove-early.log", 1),
              HasSubstr("still run"));
  stop(*running);
  ASSERT_TRUE(
      admin().create(kube::kPod, ns(),
                     pod("left", "", R"(,"finalizers":["berth.dev/accounting","example.com/x"])")));
  EXPECT_THAT(
      ran({"install", "--remove", "--kubeconfig", plane().kubeconfig().string()}, "remove.log"),
      AllOf(HasSubstr("removed ValidatingWebhookConfiguration berth-scavengers"),
            HasSubstr("1 pods are no longer held")));
  const auto left = admin().get(kube::kPod, key("left"));
  ASSERT_TRUE(left);
  EXPECT_THAT(left->finalizers(), testing::ElementsAre("example.com/x"));
  EXPECT_TRUE(admin().create(jobs(), ns(), job("free", R"("image":"i")")));
}

TEST_F(Webhooks, CheckNamesWhatWouldConflict) {
  // Its value can never change, so scavengers would lie above everybody.
  admin().erase(kube::kPriorityClass, {"", "scavenger"});
  ASSERT_TRUE(admin().create(
      kube::kPriorityClass, "",
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"scavenger"},"value":7})"));
  EXPECT_THAT(ran({"install", "--check", "--kubeconfig", plane().kubeconfig().string()},
                  "check-conflict.log", 1),
              HasSubstr("CONFLICT PriorityClass scavenger"));
  admin().erase(kube::kPriorityClass, {"", "scavenger"});
}

}  // namespace
}  // namespace berth::e2e
