// SPDX-License-Identifier: Apache-2.0
// `berth explain pod` as a person runs it, against the real kube-apiserver.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RealExplain : public SharedPlane {
 protected:
  struct Ran {
    int code = -1;
    std::string text;  // both streams; where lines are broken does not matter
  };
  static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  Ran explain(std::vector<std::string> args, std::string kubeconfig = "") {
    if (kubeconfig.empty()) kubeconfig = plane().kubeconfig().string();
    args.insert(args.begin(), {"explain", "pod"});
    args.insert(args.end(), {"--kubeconfig", kubeconfig, "-n", ns()});
    auto child =
        Child::start({.program = BERTH_BERTH,
                      .args = std::move(args),
                      .env = {},
                      .log = plane().folder().path() / fmt::format("explain-{}", ++runs_)});
    EXPECT_TRUE(child) << child.error().message;
    EXPECT_TRUE((*child)->wait(std::chrono::seconds(60)));
    return {(*child)->exit_code(), one_line((*child)->log())};
  }
  // Ready at once: the control plane has no controller that takes the taint off.
  void make_node(const std::string& name, int cpu) {
    ASSERT_TRUE(admin().create(
        kube::kNode, "",
        fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name)));
    ASSERT_TRUE(admin().patch(kube::kNode, {"", name}, R"({"spec":{"taints":null}})"));
    ASSERT_TRUE(admin().patch(
        kube::kNode, {"", name},
        fmt::format(R"({{"status":{{"allocatable":{{"cpu":"{}","memory":"8Gi","pods":"10"}}}}}})",
                    cpu),
        kube::PatchType::kMerge, "status"));
    nodes_.push_back(name);
  }
  void make_pod(const std::string& name, const std::string& more = "") {
    const auto made = admin().create(
        kube::kPod, ns(),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{{}"containers":[{{"name":"main","image":"example.com/a:1","resources":{{"requests":{{"cpu":"2"}}}}}}]}}}})",
            name, more));
    ASSERT_TRUE(made) << made.error().message;
  }
  std::string kubeconfig_of(const std::string& user) {
    const auto key = net::issue_certificate(plane().authority(), {.common_name = user});
    EXPECT_TRUE(key);
    const TempFolder& folder = plane().folder();
    return folder
        .write(
            user + ".kubeconfig",
            fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{client-certificate: {}, client-key: {}}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
)",
                        plane().url(), folder.write(user + ".crt", key->certificate_pem).string(),
                        folder.write(user + ".key", key->key_pem).string()))
        .string();
  }
  void TearDown() override {
    for (const std::string& name : nodes_) (void)admin().erase(kube::kNode, {"", name});
    SharedPlane::TearDown();
  }

  std::vector<std::string> nodes_;
  static inline int runs_ = 0;
};

TEST_F(RealExplain, APodThatWaitsAndOneThatIsPlaced) {
  make_node("big", 8);
  make_node("small", 1);
  make_pod("web");
  const Ran waits = explain({"web"});
  EXPECT_EQ(waits.code, 0) << waits.text;
  EXPECT_THAT(waits.text,
              AllOf(HasSubstr("waits for a node. It would go to big"), HasSubstr("* big"),
                    HasSubstr("NodeResourcesFit: Insufficient cpu"), Not(HasSubstr("note:"))));

  make_pod("placed", R"("nodeName":"small",)");
  const Ran placed = explain({"placed"});
  EXPECT_EQ(placed.code, 0) << placed.text;
  EXPECT_THAT(placed.text, AllOf(HasSubstr("is on small."), HasSubstr("it would go to big"),
                                 HasSubstr("small would be refused by NodeResourcesFit")));

  const Ran json = explain({"web", "-o", "json"});
  EXPECT_EQ(json.code, 0) << json.text;
  const json::Slice answer(json.text);
  EXPECT_EQ(answer["id"].text(), ns() + "/web");
  EXPECT_EQ(answer["chosen"].text(), "big") << json.text;
  EXPECT_EQ(answer["filter"]["small"]["plugin"].text(), "NodeResourcesFit");
}

TEST_F(RealExplain, NothingFitsAndSomebodyWouldHaveToGo) {
  make_node("one", 3);
  make_pod("low", R"("nodeName":"one",)");
  make_pod("urgent", R"("priorityClassName":"system-node-critical",)");
  const Ran got = explain({"urgent"});
  EXPECT_EQ(got.code, 0) << got.text;
  EXPECT_THAT(got.text, AllOf(HasSubstr("0/1 nodes are available: 1 Insufficient cpu."),
                              HasSubstr("Preemption would evict 1 pod from one:   " + ns() +
                                        "/low (priority 0)")));
}

TEST_F(RealExplain, AGatedPodNamesItsGates) {
  make_node("gate", 3);
  make_pod("gated", R"("schedulingGates":[{"name":"example.com/quota"}],)");
  EXPECT_THAT(explain({"gated"}).text,
              HasSubstr("is held back by its scheduling gates: example.com/quota."));
}

TEST_F(RealExplain, AWrongNameIsAnswered) {
  make_pod("web-0");
  const Ran near = explain({"web-o"});
  EXPECT_EQ(near.code, 1);
  EXPECT_EQ(near.text, fmt::format("berth explain: pod {}/web-o does not exist, maybe you meant "
                                   "web-0 ",
                                   ns()));
  const auto elsewhere = admin().create(
      kube::kPod, "default",
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"there"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_TRUE(elsewhere) << elsewhere.error().message;
  EXPECT_THAT(explain({"there"}).text, HasSubstr("one of that name is in default"));
}

TEST_F(RealExplain, SaysWhatMayNotBeRead) {
  make_node("roomy", 3);
  make_pod("web");
  const std::string eve = kubeconfig_of("eve");
  const Ran nothing = explain({"web"}, eve);
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.text, HasSubstr("User \"eve\" cannot get resource \"pods\""));

  const std::string as_admin = "--kubeconfig=" + plane().kubeconfig().string();
  kubectl({as_admin, "create", "clusterrole", "few", "--verb=get,list", "--resource=pods,nodes"});
  kubectl({as_admin, "create", "clusterrolebinding", "few", "--clusterrole=few", "--user=eve"});
  Ran enough;
  EXPECT_TRUE(eventually(std::chrono::seconds(30), [&] {  // RBAC takes a moment
    enough = explain({"web"}, eve);
    return enough.code == 0;
  })) << enough.text;
  EXPECT_THAT(
      enough.text,
      AllOf(HasSubstr("note: judged as if there were none of what may not be listed: namespaces, "),
            HasSubstr("It would go to roomy")));
}

}  // namespace
}  // namespace berth::e2e
