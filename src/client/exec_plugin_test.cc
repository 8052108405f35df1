// SPDX-License-Identifier: Apache-2.0
#include "client/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/surroundings_fake.h"
#include "json/writer.h"
#include "net/loop.h"

namespace berth::client {
namespace {

using testing::HasSubstr;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

ExecPlugin plugin() {
  ExecPlugin out;
  out.api_version = kV1;
  out.command = "login";
  out.place = "kubeconfig /k: user \"u\": exec";
  return out;
}

std::string answer(std::string_view status) {
  return fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})", kV1, status);
}

TEST(ExecPlugin, TellsThePluginAboutTheCluster) {
  ExecPlugin p = plugin();
  ClusterConfig config;
  config.server = "https://h:6443";
  config.server_name = "kubernetes";
  EXPECT_EQ(exec_info(p, config, "PEM", false),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":false}})");
  p.provide_cluster_info = true;
  p.cluster_config = R"({"audience":"a"})";
  EXPECT_EQ(exec_info(p, config, "PEM", true),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"cluster":{"server":"https://h:6443","tls-server-name":"kubernetes",)"
            R"("certificate-authority-data":"UEVN","config":{"audience":"a"}},)"
            R"("interactive":true}})");
}

TEST(ExecPlugin, ReadsATokenAndItsExpiry) {
  Result<ExecCredential> r = parse_exec_credential(
      plugin(), answer(R"({"token":"t","expirationTimestamp":"2026-01-01T00:00:10Z"})"));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->token, "t");
  EXPECT_EQ(r->expires, WallTime{1'767'225'610'000'000'000});
}

TEST(ExecPlugin, ReadsACertificate) {
  const net::KeyPair authority = net::make_authority("test").value();
  json::Writer w;
  w.object().member("clientCertificateData").string(authority.certificate_pem);
  w.member("clientKeyData").string(authority.key_pem).end();
  Result<ExecCredential> r = parse_exec_credential(plugin(), answer(w.text()));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->certificate_pem, authority.certificate_pem);
  EXPECT_FALSE(r->expires);
}

TEST(ExecPlugin, SaysWhatIsWrongWithAnAnswer) {
  const struct {
    std::string output, error;
  } rows[] = {
      {"Please log in", "its output is not JSON: line 1"},
      {R"({"kind":"Pod"})", "not an ExecCredential"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
       "it answers in client.authentication.k8s.io/v1beta1, but client.authentication.k8s.io/v1 is "
       "configured"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})",
       "its output has no status"},
      {answer("{}"), "neither a token nor a certificate"},
      {answer(R"({"token":7})"), "status.token is not a string"},
      {answer(R"({"token":"a\nb"})"), "its token has a line break"},
      {answer(R"({"clientKeyData":"x"})"), "only one of certificate and key"},
      {answer(R"({"clientKeyData":"x","clientCertificateData":"y"})"), "client certificate: "},
      {answer(R"({"token":"t","expirationTimestamp":"soon"})"), "is not an RFC 3339 time"},
  };
  for (const auto& row : rows) {
    Result<ExecCredential> r = parse_exec_credential(plugin(), row.output);
    ASSERT_FALSE(r) << row.output;
    EXPECT_THAT(r.error().message, HasSubstr(row.error));
    EXPECT_THAT(r.error().message, HasSubstr("kubeconfig /k: user \"u\": exec: plugin login: "));
  }
}

TEST(ExecPlugin, RunsTheProgram) {
  net::RealRuntime runtime;
  FakeSurroundings here;
  here.program("login", "/bin/sh");
  ExecPlugin p = plugin();
  p.args = {"-c",
            "case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) "
            "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" +
                std::string(kV1) + "\",\"status\":{\"token\":\"'$EXTRA'\"}}';; *) exit 9;; esac"};
  p.env = {{"EXTRA", "from-env"}};
  const std::atomic<bool> stop{false};
  const Clock& clock = runtime.loop("test").clock();
  Result<ExecCredential> r = run_exec_plugin(p, {}, "", here.get(), clock, stop);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->token, "from-env");

  p.args = {"-c", "echo 'not\nallowed' >&2; exit 4"};
  r = run_exec_plugin(p, {}, "", here.get(), clock, stop);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message,
            "kubeconfig /k: user \"u\": exec: plugin login: failed with exit code 4: not allowed");

  p.command = "absent";
  p.install_hint = "apt install absent";
  r = run_exec_plugin(p, {}, "", here.get(), clock, stop);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("plugin absent: was not found; apt install absent"));
}

}  // namespace
}  // namespace berth::client
