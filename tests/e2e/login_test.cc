// SPDX-License-Identifier: Apache-2.0
// Every way to show who we are, with kubeconfig files that kubectl wrote, seen by the real server.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared_plane.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;

class RealLogin : public SharedPlane {
 protected:
  void SetUp() override {
    SharedPlane::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    file_ = plane().folder().path() / (ns() + ".kubeconfig");
    config({"set-cluster", "c", "--server=" + plane().url(),
            "--certificate-authority=" + (plane().folder().path() / "ca.crt").string()});
    config({"set-context", "x", "--cluster=c", "--user=u"});
    config({"use-context", "x"});
  }

  void config(std::vector<std::string> args) {
    args.insert(args.begin(), {"config", "--kubeconfig=" + file_.string()});
    kubectl(std::move(args));
  }

  // A certificate and key for that user in the folder; the names of the files end in .crt and .key.
  std::string issue(const std::string& user, std::vector<std::string> groups) {
    const auto pair = net::issue_certificate(
        plane().authority(), {.common_name = user, .organizations = std::move(groups)});
    EXPECT_TRUE(pair) << pair.error().message;
    plane().folder().write(user + ".crt", pair->certificate_pem);
    plane().folder().write(user + ".key", pair->key_pem);
    return (plane().folder().path() / user).string();
  }

  // As whom the server sees us.
  Result<std::string> who_am_i() {
    auto session = Session::open(file_);
    if (!session) return tl::unexpected(session.error());
    const kube::KindId review = kube::learn_kind({.group = "authentication.k8s.io",
                                                  .version = "v1",
                                                  .kind = "SelfSubjectReview",
                                                  .plural = "selfsubjectreviews",
                                                  .namespaced = false});
    auto answer = (*session)->create(
        review, "", R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
    if (!answer) return tl::unexpected(answer.error());
    return answer->status()["userInfo"]["username"].text();
  }
  void expect_user(const std::string& name) {
    const auto user = who_am_i();
    ASSERT_TRUE(user) << user.error().message;
    EXPECT_EQ(*user, name);
  }

  std::filesystem::path file_;
};

TEST_F(RealLogin, Token) {
  config({"set-credentials", "u", "--token=" + plane().token()});
  expect_user("admin");
}

TEST_F(RealLogin, TokenFile) {
  const auto file = plane().folder().write("token", plane().token() + "\n");
  config({"set", "users.u.tokenFile", file.string()});
  expect_user("admin");
}

TEST_F(RealLogin, ClientCertificateInline) {
  const std::string alice = issue("alice", {"dev", "ops"});
  config({"set-credentials", "u", "--embed-certs=true", "--client-certificate=" + alice + ".crt",
          "--client-key=" + alice + ".key"});
  expect_user("alice");
}

TEST_F(RealLogin, ClientCertificateInFiles) {
  const std::string carol = issue("carol", {});
  config({"set-credentials", "u", "--client-certificate=" + carol + ".crt",
          "--client-key=" + carol + ".key"});
  expect_user("carol");
}

TEST_F(RealLogin, AuthorityInlineAndAnotherServerName) {
  config({"set-cluster", "c", "--embed-certs=true",
          "--certificate-authority=" + (plane().folder().path() / "ca.crt").string(),
          "--tls-server-name=kubernetes.default.svc"});
  config({"set-credentials", "u", "--token=" + plane().token()});
  expect_user("admin");
}

// Tried once, below the verbs and their retries: another attempt would find the same certificate.
TEST_F(RealLogin, AnotherServerNameThatIsNotInTheCertificate) {
  config({"set-cluster", "c", "--tls-server-name=elsewhere.example.com"});
  config({"set-credentials", "u", "--token=" + plane().token()});
  auto session = Session::open(file_);
  ASSERT_TRUE(session) << session.error().message;
  const auto reply = (*session)->once({.verb = kube::Verb::kList, .kind = kube::kPod}, 10s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(reply.error().message, HasSubstr("elsewhere.example.com"));
}

TEST_F(RealLogin, ExecPluginThatGivesAToken) {
  const auto script = plane().folder().write(
      "plugins/token.sh",
      "#!/bin/sh\n"
      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
      "\"status\":{\"token\":\"%s\"}}' \"$TOKEN\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  config({"set-credentials", "u", "--exec-command=" + script.string(),
          "--exec-api-version=client.authentication.k8s.io/v1", "--exec-interactive-mode=Never",
          "--exec-env=TOKEN=" + plane().token()});
  expect_user("admin");
}

TEST_F(RealLogin, ExecPluginThatGivesACertificate) {
  const std::string dave = issue("dave", {});
  const auto script = plane().folder().write(
      "plugins/certificate.sh",
      "#!/bin/sh\n"
      "lines() { awk '{ printf \"%s\\\\n\", $0 }' \"$1\"; }\n"
      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
      "\"status\":{\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}}' "
      "\"$(lines \"$1.crt\")\" \"$(lines \"$1.key\")\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  config({"set-credentials", "u", "--exec-command=" + script.string(), "--exec-arg=" + dave,
          "--exec-api-version=client.authentication.k8s.io/v1", "--exec-interactive-mode=Never"});
  expect_user("dave");
}

TEST_F(RealLogin, ImpersonatesSomebodyElse) {
  config({"set-credentials", "u", "--token=" + plane().token()});
  // kubectl has no way to set it.
  std::ifstream in(file_);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  text.insert(text.find("    token:"), "    as: erin\n    as-groups: [ops]\n");
  std::ofstream(file_, std::ios::trunc) << text;
  expect_user("erin");
}

TEST_F(RealLogin, WrongTokenIsUnauthorized) {
  config({"set-credentials", "u", "--token=wrong"});
  const auto user = who_am_i();
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().reason, Reason::kUnauthorized);
  EXPECT_EQ(user.error().code, 401);
}

TEST_F(RealLogin, UserWithoutRightsIsForbidden) {
  const std::string mallory = issue("mallory", {});
  config({"set-credentials", "u", "--client-certificate=" + mallory + ".crt",
          "--client-key=" + mallory + ".key"});
  auto session = Session::open(file_);
  ASSERT_TRUE(session) << session.error().message;
  const auto pods = (*session)->list_all(kube::kPod, ns());
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().reason, Reason::kForbidden);
  EXPECT_EQ(pods.error().code, 403);
  EXPECT_THAT(pods.error().message, HasSubstr("mallory"));
}

}  // namespace
}  // namespace berth::e2e
