// SPDX-License-Identifier: Apache-2.0
// deploy/scheduler.yaml as docs/scheduler.md tells to use it: the server takes all of it, and the
// rights in it are enough to place pods.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "shared_plane.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Deploy : public SharedPlane {
 protected:
  std::string admin_kubectl(std::vector<std::string> args) {
    args.insert(args.begin(), "--kubeconfig=" + plane().kubeconfig().string());
    return kubectl(std::move(args));
  }
  std::string node_of(const std::string& pod) {
    const auto got = admin().get(kube::kPod, key(pod));
    return got ? std::string(got->member("spec")["nodeName"].text()) : got.error().message;
  }
};

TEST_F(Deploy, TheServerTakesTheWholeManifest) {
  EXPECT_THAT(
      admin_kubectl({"apply", "--dry-run=server", "-f", BERTH_SOURCE_DIR "/deploy/scheduler.yaml"}),
      HasSubstr("deployment.apps/berth-scheduler created (server dry run)"));
}

TEST_F(Deploy, TheRightsAreEnoughToPlaceRefuseAndPreempt) {
  admin_kubectl({"apply", "-f", BERTH_SOURCE_DIR "/deploy/scheduler.yaml", "-l", "part=rights"});
  std::string token = admin_kubectl({"-n", "kube-system", "create", "token", "berth-scheduler"});
  while (!token.empty() && token.back() == '\n') token.pop_back();
  const std::string kubeconfig = plane()
                                     .folder()
                                     .write("berth.kubeconfig", fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: "{}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
)",
                                                                            plane().url(), token))
                                     .string();

  ASSERT_TRUE(admin().create(kube::kNode, "",
                             R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"only"}})"));
  ASSERT_TRUE(admin().patch(kube::kNode, {"", "only"}, R"({"spec":{"taints":null}})"));
  ASSERT_TRUE(admin().patch(kube::kNode, {"", "only"},
                            R"({"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}})",
                            kube::PatchType::kMerge, "status"));
  const auto make_pod = [&](const std::string& name, const std::string& cpu,
                            const std::string& more = "") {
    const auto made = admin().create(
        kube::kPod, ns(),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"schedulerName":"berth",{}"terminationGracePeriodSeconds":0,"containers":[{{"name":"main","image":"example.com/a:1","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
            name, more, cpu));
    ASSERT_TRUE(made) << made.error().message;
  };

  auto scheduler = Child::start(
      {.program = BERTH_BERTH,
       .args = {"scheduler", "--kubeconfig", kubeconfig, "--config",
                BERTH_SOURCE_DIR "/examples/scheduler/beside.yaml", "--secure-port", "0"},
       .env = {},
       .log = plane().folder().path() / "beside.log"});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  const auto soon = [&](auto holds) { return eventually(std::chrono::seconds(60), holds); };
  make_pod("low", "3");
  EXPECT_TRUE(soon([&] { return node_of("low") == "only"; })) << (*scheduler)->log();
  make_pod("huge", "40");
  EXPECT_TRUE(soon([&] {
    const auto got = admin().get(kube::kPod, key("huge"));
    return got && got->json().find("0/1 nodes are available") != std::string::npos;
  })) << (*scheduler)->log();
  make_pod("urgent", "2", R"("priorityClassName":"system-cluster-critical",)");
  EXPECT_TRUE(soon([&] { return node_of("urgent") == "only"; })) << (*scheduler)->log();
  EXPECT_TRUE(soon([&] {
    const auto events = admin().list_all(kube::kEvent, ns());
    std::string reasons;
    if (events)
      for (const kube::Object& event : events->items)
        reasons += std::string(event.member("reason").text()) + " ";
    return reasons.find("Scheduled ") != std::string::npos &&
           reasons.find("FailedScheduling ") != std::string::npos &&
           reasons.find("Preempted ") != std::string::npos;
  })) << (*scheduler)->log();
  (*scheduler)->signal(SIGTERM);
  ASSERT_TRUE((*scheduler)->wait(std::chrono::seconds(30)));
  EXPECT_EQ((*scheduler)->exit_code(), 0);
  EXPECT_THAT((*scheduler)->log(), Not(HasSubstr("cannot ")));
  EXPECT_THAT((*scheduler)->log(), Not(HasSubstr("forbidden")));
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "only"}));
}

}  // namespace
}  // namespace berth::e2e
