// SPDX-License-Identifier: Apache-2.0
#include "client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/world.h"
#include "client/surroundings_fake.h"

namespace berth::client {
namespace {

using testing::HasSubstr;

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    config.url.origin = {.tls = true, .host = "h", .port = 443};
    here.program("plugin", "/bin/sh");
  }
  ~CredentialsTest() override {
    scope.close(0s, [] {});
    world.run_until_idle(1h);
  }
  void start() {
    credentials = std::make_unique<Credentials>(world, scope, config, net::TlsClientOptions{},
                                                here.get(), log);
  }
  // The header that a request would carry now, or the error.
  std::string header() {
    std::optional<Result<std::shared_ptr<const Secrets>>> slot;
    credentials->get(scope.done<std::shared_ptr<const Secrets>>(
        kNoLimit, [&](Result<std::shared_ptr<const Secrets>> r) { slot = std::move(r); }));
    EXPECT_TRUE(world.run_until_idle(1h));
    if (!slot) return "no answer";
    if (!*slot) return "error: " + slot->error().message;
    last = **slot;
    return last->authorization;
  }
  void use_token_file() {
    config.token = {.data = "", .file = "/t", .place = "kubeconfig /k: user \"u\": tokenFile"};
    here.file("/t", " one\n");
  }
  // A plugin that answers with what is in /tmp-like `state`: here, with a fixed answer.
  void use_plugin(const std::string& status) {
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = "plugin";
    plugin.place = "kubeconfig /k: user \"u\": exec";
    plugin.args = {"-c", "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" +
                             plugin.api_version + "\",\"status\":" + status + "}'"};
    config.exec = plugin;
  }

  World world{1};
  StringSink sink;
  Logger log{sink, world.clock()};
  Scope scope{world.loop("client"), "test"};
  FakeSurroundings here;
  ClusterConfig config;
  std::unique_ptr<Credentials> credentials;
  std::shared_ptr<const Secrets> last;
};

TEST_F(CredentialsTest, AnonymousShowsNothing) {
  start();
  EXPECT_EQ(header(), "");
  EXPECT_FALSE(credentials->rejected(last));
}

TEST_F(CredentialsTest, ATokenIsABearer) {
  config.token.data = "secret";
  start();
  EXPECT_EQ(header(), "Bearer secret");
  EXPECT_FALSE(credentials->rejected(last));  // there is no other
}

TEST_F(CredentialsTest, APasswordIsBasic) {
  config.username = "me";
  config.password = "pass:word";
  start();
  EXPECT_EQ(header(), "Basic bWU6cGFzczp3b3Jk");
}

TEST_F(CredentialsTest, ATokenFileIsReadAgainWithinAMinute) {
  use_token_file();
  start();
  EXPECT_EQ(header(), "Bearer one");
  here.file("/t", "two");
  EXPECT_EQ(header(), "Bearer one");
  world.run_for(60s);
  EXPECT_EQ(header(), "Bearer two");
}

TEST_F(CredentialsTest, ATokenFileGoesBeforeTheTokenBesideIt) {
  use_token_file();
  config.token.data = "old";
  start();
  EXPECT_EQ(header(), "Bearer one");
  here.no_file("/t");
  world.run_for(60s);
  EXPECT_EQ(header(), "Bearer old");
}

TEST_F(CredentialsTest, TheOldTokenServesWhileTheFileIsAway) {
  use_token_file();
  start();
  EXPECT_EQ(header(), "Bearer one");
  here.no_file("/t");
  world.run_for(60s);
  EXPECT_EQ(header(), "Bearer one");
  EXPECT_THAT(sink.text(), HasSubstr("credentials could not be renewed"));
  here.file("/t", "two");
  world.run_for(11s);
  EXPECT_EQ(header(), "Bearer two");
}

TEST_F(CredentialsTest, AMissingTokenFileIsNamed) {
  use_token_file();
  here.no_file("/t");
  start();
  EXPECT_EQ(
      header(),
      "error: kubeconfig /k: user \"u\": tokenFile: cannot read /t: no such file; create it or "
      "correct the path");
  here.file("/t", " \n");
  EXPECT_EQ(header(), "error: kubeconfig /k: user \"u\": tokenFile: /t is empty");
}

TEST_F(CredentialsTest, ARefusedTokenIsReadAgainAtOnceButNotWithoutEnd) {
  use_token_file();
  start();
  EXPECT_EQ(header(), "Bearer one");
  here.file("/t", "two");
  const auto first = last;
  EXPECT_TRUE(credentials->rejected(first));
  EXPECT_EQ(header(), "Bearer two");
  EXPECT_TRUE(credentials->rejected(first));  // a late refusal of the old one
  EXPECT_EQ(header(), "Bearer two");
  EXPECT_FALSE(credentials->rejected(last));  // too soon
  world.run_for(11s);
  EXPECT_TRUE(credentials->rejected(last));
}

TEST_F(CredentialsTest, TheSameSecretsStayTheSameObject) {
  use_token_file();
  start();
  header();
  const auto first = last;
  world.run_for(60s);
  header();
  EXPECT_EQ(first, last);
}

TEST_F(CredentialsTest, APluginIsAskedAgainShortlyBeforeItsTokenExpires) {
  // The world begins with 2026; each run of the plugin answers differently.
  const std::string counter = testing::TempDir() + "/berth-plugin-" + std::to_string(::getpid());
  ::unlink(counter.c_str());
  use_plugin("{\"token\":\"'$(echo x >> " + counter + "; wc -l < " + counter +
             ")'\",\"expirationTimestamp\":\"2026-01-01T00:10:00Z\"}");
  start();
  EXPECT_EQ(header(), "Bearer 1");
  world.run_for(8min);
  EXPECT_EQ(header(), "Bearer 1");
  world.run_for(61s);
  EXPECT_EQ(header(), "Bearer 2");
  ::unlink(counter.c_str());
}

TEST_F(CredentialsTest, APluginThatFailsIsNamed) {
  use_plugin("{}");
  config.exec->args = {"-c", "echo 'no network' >&2; exit 1"};
  start();
  EXPECT_EQ(header(),
            "error: kubeconfig /k: user \"u\": exec: plugin plugin: failed with exit code 1: no "
            "network");
}

TEST_F(CredentialsTest, ManyWaitForOneLoad) {
  use_token_file();
  start();
  int answers = 0;
  for (int i = 0; i < 5; ++i)
    credentials->get(scope.done<std::shared_ptr<const Secrets>>(
        kNoLimit, [&](Result<std::shared_ptr<const Secrets>> r) { answers += r ? 1 : 0; }));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_EQ(answers, 5);
}

}  // namespace
}  // namespace berth::client
