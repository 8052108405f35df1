// SPDX-License-Identifier: Apache-2.0
// `berth capacity` as a person runs it, against the real kube-apiserver.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "json/slice.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;

class RealCapacity : public SharedPlane {
 protected:
  std::unique_ptr<Child> berth(std::vector<std::string> args) {
    args.insert(args.end(), {"--kubeconfig", plane().kubeconfig().string()});
    log_ = plane().folder().path() / fmt::format("berth-{}.log", ++runs_);
    auto child =
        Child::start({.program = BERTH_BERTH, .args = std::move(args), .env = {}, .log = log_});
    EXPECT_TRUE(child) << child.error().message;
    return *std::move(child);
  }
  void make_node(const std::string& name) {
    ASSERT_TRUE(admin().create(
        kube::kNode, "",
        fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name)));
    ASSERT_TRUE(admin().patch(
        kube::kNode, {"", name},
        R"({"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}})",
        kube::PatchType::kMerge, "status"));
  }
  void make_pod(const std::string& name, const std::string& node) {
    const auto made = admin().create(
        kube::kPod, ns(),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}","containers":[{{"name":"main","image":"example.com/a:1","resources":{{"limits":{{"cpu":"1500m"}}}}}}]}}}})",
            name, node));
    ASSERT_TRUE(made) << made.error().message;
  }

  std::filesystem::path log_;
  static inline int runs_ = 0;
};

TEST_F(RealCapacity, AddsUpWhatTheServerHas) {
  make_node("a");
  make_pod("p", "a");
  const auto run = berth({"capacity", "-o", "json"});
  ASSERT_TRUE(run->wait(std::chrono::seconds(60)));
  ASSERT_EQ(run->exit_code(), 0) << run->log();
  const std::string text = run->log();
  const json::Slice report(text);
  ASSERT_EQ(report["nodes"].size(), 1u) << text;
  EXPECT_EQ(report["nodes"][std::size_t{0}]["requested"]["cpu"].text(), "1500m")
      << "the server made the limit the request";
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "a"}));
}

TEST_F(RealCapacity, FollowsChangesUntilInterrupted) {
  make_node("b");
  const auto run = berth({"capacity", "--watch"});
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] {
    return run->log().find("0 of 10") != std::string::npos;
  })) << run->log();
  make_pod("p", "b");
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] {
    return run->log().find("1 of 10") != std::string::npos;
  })) << run->log();
  run->signal(SIGINT);
  ASSERT_TRUE(run->wait(std::chrono::seconds(30)));
  EXPECT_EQ(run->exit_code(), 0) << run->log();
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "b"}));
}

TEST_F(RealCapacity, SaysWhoMayNotRead) {
  const auto outsider = net::issue_certificate(plane().authority(), {.common_name = "eve"});
  ASSERT_TRUE(outsider);
  const std::string config =
      plane()
          .folder()
          .write("eve.kubeconfig",
                 fmt::format(R"(apiVersion: v1
kind: Config
current-context: eve
clusters: [{{name: c, cluster: {{server: "{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: eve, user: {{client-certificate: {}, client-key: {}}}}}]
contexts: [{{name: eve, context: {{cluster: c, user: eve}}}}]
)",
                             plane().url(),
                             plane().folder().write("eve.crt", outsider->certificate_pem).string(),
                             plane().folder().write("eve.key", outsider->key_pem).string()))
          .string();
  auto child = Child::start({.program = BERTH_BERTH,
                             .args = {"capacity", "--kubeconfig", config},
                             .env = {},
                             .log = plane().folder().path() / "eve.log"});
  ASSERT_TRUE(child);
  ASSERT_TRUE((*child)->wait(std::chrono::seconds(60)));
  EXPECT_EQ((*child)->exit_code(), 1);
  EXPECT_THAT((*child)->log(), HasSubstr("User \"eve\" cannot list resource \"nodes\""));
}

}  // namespace
}  // namespace berth::e2e
