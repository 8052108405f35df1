// SPDX-License-Identifier: Apache-2.0
// The gateway of `berth up` with the STOMP clients that people use, over sockets.
#include <filesystem>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "child.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;

fs::path cache() {
  if (const char* given = std::getenv("BERTH_CLIENTS_DIR")) return given;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) return fs::path(xdg) / "berth/clients";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/") / ".cache/berth/clients";
}

// A cluster with one BatchJob, and the address of its gateway.
class GatewayClients : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(cache() / "node_modules/@stomp/stompjs") ||
        !fs::exists(cache() / "python/stomp"))
      GTEST_SKIP() << "no STOMP clients here: tools/clients/install fetches them";
    const fs::path file = folder_.write(
        "objects.yaml",
        "apiVersion: batchjob.gcr.io/v1alpha1\nkind: BatchJob\nmetadata: {name: a, namespace: "
        "default}\nspec: {sparkSpec: {type: Scala}}\n");
    auto started = Child::start(
        {.program = BERTH_BERTH,
         .args = {"up", "--ephemeral", "--nodes", "0", "--port", "0", "--apply", file.string(),
                  "--kubeconfig-out", (folder_.path() / "kubeconfig").string()},
         .env = {},
         .log = folder_.path() / "up.log"});
    ASSERT_TRUE(started) << started.error().message;
    up_ = *std::move(started);
    const std::regex address("(http://127\\.0\\.0\\.1:[0-9]+)/ui/#token=([0-9a-f]+)");
    ASSERT_TRUE(eventually(std::chrono::seconds(120), [&] {
      std::smatch found;
      const std::string log = up_->log();
      if (!std::regex_search(log, found, address)) return false;
      url_ = found[1];
      token_ = found[2];
      return true;
    })) << up_->log_tail();
    ASSERT_TRUE(eventually(std::chrono::seconds(60), [&] {
      return run("curl", {"-sf", url_ + "/readyz"}) == 0;
    })) << up_->log_tail();
  }

  // A program of the PATH.
  int run(const std::string& program, std::vector<std::string> args) {
    args.insert(args.begin(), program);
    auto child = Child::start({.program = "/usr/bin/env",
                               .args = std::move(args),
                               .env = {},
                               .log = folder_.path() / "client.log"});
    if (!child) return -1;
    if (!(*child)->wait(std::chrono::seconds(180))) return -2;
    if ((*child)->exit_code() != 0) failure_ = (*child)->log_tail();
    return (*child)->exit_code();
  }
  static std::string script(const std::string& name) {
    return std::string(BERTH_SOURCE_DIR) + "/tests/e2e/gateway/" + name;
  }

  TempFolder folder_;
  std::unique_ptr<Child> up_;
  std::string url_, token_, failure_;
};

TEST_F(GatewayClients, ESI_103_StompjsConnectsSubscribesAndResumes) {
  for (const char* how : {"plain", "protocol", "sockjs", "split"})
    EXPECT_EQ(run("node", {script("stompjs.cjs"), cache().string(), url_, token_, how}), 0)
        << how << ": " << failure_ << up_->log_tail();
}

TEST_F(GatewayClients, ESI_103_StompPyConnectsSubscribesAndResumes) {
  EXPECT_EQ(run("python3", {"-B", script("stomp_py.py"), cache().string(), url_, token_}), 0)
      << failure_ << up_->log_tail();
}

TEST_F(GatewayClients, ESI_127_AWrongTokenIsRefused) {
  EXPECT_NE(run("node", {script("stompjs.cjs"), cache().string(), url_, "wrong", "plain"}), 0);
  EXPECT_NE(failure_.find("Unauthorized"), std::string::npos) << failure_;
}

}  // namespace
}  // namespace berth::e2e
