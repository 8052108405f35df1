// SPDX-License-Identifier: Apache-2.0
// `berth up` with everything on, stopped and started again on the same data directory: the cluster
// goes on as if nothing had been, and takes new work.
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth_up.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "session.h"

namespace berth::e2e {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr int kNodes = 4;

constexpr const char* kDeployment =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":8,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}}}]}}}})";

class Restart : public testing::TestWithParam<bool> {
 protected:
  void start(std::vector<std::string> flags = {"--nodes", std::to_string(kNodes)}) {
    auto up = BerthUp::start(
        {.folder = folder_.path(), .data_dir = folder_.path() / "data", .flags = std::move(flags)});
    ASSERT_TRUE(up) << up.error().message;
    up_ = std::move(*up);
    auto session = Session::open(up_->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    admin_ = std::move(*session);
  }
  void stop(bool at_once) {
    admin_.reset();
    if (at_once)
      up_->kill();
    else
      EXPECT_TRUE(up_->end()) << up_->said();
    up_.reset();
  }
  std::vector<kube::Object> list(kube::KindId kind) {
    auto all = admin_->list_all(kind, kube::kind_of(kind).namespaced ? "default" : "");
    EXPECT_TRUE(all) << all.error().message;
    return all ? std::move(all->items) : std::vector<kube::Object>();
  }
  // Where the pods run, by their uids.
  std::map<std::string, std::string> running() {
    std::map<std::string, std::string> on;
    for (const kube::Object& pod : list(kube::kPod))
      if (!pod.deleting() && pod.status()["phase"].equals("Running"))
        on.emplace(pod.uid(), pod.member("spec")["nodeName"].text());
    return on;
  }
  int ready_nodes() {
    int ready = 0;
    for (const kube::Object& node : list(kube::kNode))
      ready += kube::find_condition(node.status(), "Ready")["status"].equals("True") ? 1 : 0;
    return ready;
  }
  void wait_for_pods(std::size_t count) {
    ASSERT_TRUE(eventually(kPatience, [&] { return running().size() == count; }))
        << running().size() << " of " << count << " run\n"
        << up_->log_tail();
  }

  TempFolder folder_;
  std::unique_ptr<BerthUp> up_;
  std::unique_ptr<Session> admin_;
};

INSTANTIATE_TEST_SUITE_P(After, Restart, testing::Bool(),
                         [](const auto& row) { return row.param ? "Kill" : "CtrlC"; });

TEST_P(Restart, TheClusterGoesOnAndTakesNewWork) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto made = admin_->create(kube::kDeployment, "default", kDeployment);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_NO_FATAL_FAILURE(wait_for_pods(8));
  const std::map<std::string, std::string> before = running();
  ASSERT_NO_FATAL_FAILURE(stop(GetParam()));

  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(eventually(kPatience, [&] { return ready_nodes() == kNodes; })) << ready_nodes();
  EXPECT_EQ(running(), before);
  const auto again = admin_->get(kube::kDeployment, {"default", "web"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->uid(), made->uid());

  const auto scaled =
      admin_->patch(kube::kDeployment, {"default", "web"}, R"({"spec":{"replicas":12}})");
  ASSERT_TRUE(scaled) << scaled.error().message;
  ASSERT_NO_FATAL_FAILURE(wait_for_pods(12));
  const std::map<std::string, std::string> after = running();
  for (const auto& [pod, node] : before) EXPECT_EQ(after.count(pod), 1u) << pod << " on " << node;
  for (const auto& [pod, node] : after) EXPECT_NE(node, "") << pod;
  EXPECT_EQ(list(kube::kNode).size(), static_cast<std::size_t>(kNodes));
  ASSERT_NO_FATAL_FAILURE(stop(false));
}

TEST_P(Restart, OnlyNodesThatAreAskedForAreMadeAgain) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(eventually(kPatience, [&] { return ready_nodes() == kNodes; })) << ready_nodes();
  ASSERT_TRUE(admin_->erase(kube::kNode, {"", "node-1"}));
  ASSERT_NO_FATAL_FAILURE(stop(GetParam()));

  ASSERT_NO_FATAL_FAILURE(start({}));
  EXPECT_TRUE(eventually(kPatience, [&] { return ready_nodes() == kNodes - 1; })) << ready_nodes();
  EXPECT_FALSE(admin_->get(kube::kNode, {"", "node-1"}));
  ASSERT_NO_FATAL_FAILURE(stop(GetParam()));

  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(eventually(kPatience, [&] { return ready_nodes() == kNodes; })) << ready_nodes();
  EXPECT_EQ(list(kube::kNode).size(), static_cast<std::size_t>(kNodes));
  ASSERT_NO_FATAL_FAILURE(stop(false));
}

TEST_P(Restart, VirtualTimeDoesNotGoBack) {
  const auto at = [](const std::string& speed) {
    std::vector<std::string> flags = bare();
    flags.insert(flags.end(), {"--speed", speed});
    return flags;
  };
  const auto created = [this](int number) {
    const auto made = admin_->create(kube::kConfigMap, "default",
                                     fmt::format(R"({{"metadata":{{"name":"m{}"}}}})", number));
    EXPECT_TRUE(made) << made.error().message;
    return made
               ? kube::parse_time(made->metadata()["creationTimestamp"].text()).value_or(WallTime{})
               : WallTime{};
  };
  ASSERT_NO_FATAL_FAILURE(start(at("x3600")));
  const WallTime first = created(0);
  WallTime last;
  int number = 0;
  ASSERT_TRUE(eventually(kPatience, [&] {
    last = created(++number);
    return last - first > std::chrono::hours(6);
  }));
  if (GetParam()) {  // it loses what passed since the time was last written down
    ASSERT_TRUE(eventually(kPatience, [&] {
      WallTime kept;
      std::ifstream(folder_.path() / "data" / "time") >> kept.unix_nanos;
      return kept > last;
    }));
  }
  ASSERT_NO_FATAL_FAILURE(stop(GetParam()));

  ASSERT_NO_FATAL_FAILURE(start(at("x1")));
  EXPECT_GE(created(number + 1), last);
  ASSERT_NO_FATAL_FAILURE(stop(false));
}

}  // namespace
}  // namespace berth::e2e
