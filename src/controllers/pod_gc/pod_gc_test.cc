// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;

const WallTime kNow = *kube::parse_time("2026-01-01T00:01:00Z");
constexpr const char* kDeleted = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";

class PodGcTable : public testing::Test {
 protected:
  void pod(const std::string& name, const std::string& metadata, const char* node,
           const std::string& status) {
    objects.add(
        kube::kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"a"{}}},"spec":{{"nodeName":"{}"}},"status":{{{}}}}})",
            name, metadata, node, status));
  }
  std::string plan(WallTime now = kNow, const runtime::Key& key = {"a", "p"}) {
    runtime::Plan made = objects.reconcile(key, now);
    objects.memory.remembered = made.remembered();
    return made.text();
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"pod-garbage-collector-controller"}, {.terminated_pods_kept = 2});
  runtime::Objects objects{*controllers[0]};
};

TEST_F(PodGcTable, RemovesWhatWasDeletedBeforeItHadANode) {
  pod("p", "", "", "");
  EXPECT_EQ(plan(), "");
  pod("p", kDeleted, "", R"("phase":"Pending")");
  EXPECT_EQ(plan(), "patch pods a/p/status: {\"status\":{\"phase\":\"Failed\"}}\nerase pods a/p\n");
  const auto erase =
      std::get<runtime::EraseAction>(objects.reconcile({"a", "p"}, kNow).actions().at(1));
  EXPECT_EQ(erase.grace_seconds, 0);
}

TEST_F(PodGcTable, RemovesPodsOfNodesThatAreGoneAfterALookAndAQuestion) {
  pod("p", R"(,"generation":3)", "n", R"("phase":"Running")");
  EXPECT_EQ(plan(), "again at 2026-01-01T00:01:40Z\n");
  EXPECT_EQ(plan(kNow + 10s), "again at 2026-01-01T00:01:40Z\n");
  EXPECT_EQ(plan(kNow + 40s), "ask node\n");
  objects.memory.answers["node"] =
      runtime::Answer{.error = Error{.reason = Reason::kNotFound, .message = "no"}};
  EXPECT_EQ(
      plan(kNow + 40s),
      R"(patch pods a/p/status: {"status":{"phase":"Failed","observedGeneration":3,"conditions":[{"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC","message":"PodGC: node no longer exists","observedGeneration":3,"lastTransitionTime":"2026-01-01T00:01:40Z"}]}})"
      "\nerase pods a/p\n");
  pod("p", "", "n", R"("phase":"Succeeded")");
  objects.memory.remembered = std::to_string(kNow.unix_nanos);
  EXPECT_EQ(plan(kNow + 40s), "erase pods a/p\n") << "it has ended by itself";
}

TEST_F(PodGcTable, LeavesPodsWhoseNodeTheServerKnows) {
  pod("p", "", "n", "");
  objects.memory.remembered = std::to_string(kNow.unix_nanos);
  objects.memory.answers["node"] = runtime::Answer{};
  EXPECT_EQ(plan(), "again at 2026-01-01T00:01:40Z\n");
}

TEST_F(PodGcTable, RemovesWhatWaitsForANodeOutOfService) {
  const auto node = [&](const char* ready, const char* taints) {
    objects.add(
        kube::kNode,
        fmt::format(
            R"({{"metadata":{{"name":"n"}},"spec":{{"taints":[{}]}},"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
            taints, ready));
  };
  constexpr const char* kOut =
      R"({"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"})";
  pod("p", kDeleted, "n", R"("phase":"Failed")");
  node("Unknown", "");
  EXPECT_EQ(plan(), "");
  node("True", kOut);
  EXPECT_EQ(plan(), "");
  node("Unknown", kOut);
  EXPECT_EQ(plan(), "erase pods a/p\n");
  pod("p", "", "n", R"("phase":"Running")");
  EXPECT_EQ(plan(), "") << "nobody asked for it";
}

TEST_F(PodGcTable, KeepsSoManyThatHaveEndedAndEvictedOnesLeast) {
  const runtime::Key all{"", "ended pods"};
  pod("new", R"(,"creationTimestamp":"2026-01-01T00:00:09Z")", "n", R"("phase":"Succeeded")");
  pod("old", R"(,"creationTimestamp":"2026-01-01T00:00:01Z")", "n", R"("phase":"Failed")");
  pod("running", R"(,"creationTimestamp":"2025-01-01T00:00:01Z")", "n", R"("phase":"Running")");
  EXPECT_EQ(plan(kNow, all), "");
  pod("evicted", R"(,"creationTimestamp":"2026-01-01T00:00:08Z")", "n",
      R"("phase":"Failed","reason":"Evicted")");
  EXPECT_EQ(plan(kNow, all), "erase pods a/evicted\n");
  pod("newest", R"(,"creationTimestamp":"2026-01-01T00:00:10Z")", "n", R"("phase":"Failed")");
  EXPECT_EQ(plan(kNow, all), "erase pods a/evicted\nerase pods a/old\n");
}

}  // namespace
}  // namespace berth::controllers
