// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

const WallTime kNow = *kube::parse_time("2026-01-01T00:01:00Z");

class ResourceQuotaTable : public testing::Test {
 protected:
  ResourceQuotaTable() {
    objects.followed_kinds = {kube::kConfigMap, kube::kPod, kube::kService, kube::kJob,
                              kube::kNode};
  }
  void quota(const std::string& spec, const std::string& status) {
    objects.add(
        kube::kResourceQuota,
        fmt::format(
            R"({{"metadata":{{"name":"q","namespace":"a"}},"spec":{{{}}},"status":{{{}}}}})", spec,
            status));
  }
  void pod(const char* name, const char* metadata = "", const char* ns = "a") {
    objects.add(
        kube::kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"{}"{}}},"spec":{{"containers":[{{"name":"m","resources":{{"requests":{{"cpu":"500m"}}}}}}]}}}})",
            name, ns, metadata));
  }
  std::string plan(WallTime now = kNow, const char* key = "a") {
    runtime::Plan made = objects.reconcile({key, "q"}, now);
    objects.memory.remembered = made.remembered();
    return made.text();
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"resourcequota-controller"});
  runtime::Objects objects{*controllers[0]};
};

TEST_F(ResourceQuotaTable, CountsWhatTheQuotaNames) {
  pod("p");
  pod("q");
  pod("elsewhere", "", "b");
  objects.add(kube::kJob, R"({"metadata":{"name":"j","namespace":"a"}})");
  quota(
      R"("hard":{"cpu":"4","pods":"10","count/jobs.batch":"3","services":"2","nobody/knows":"1"})",
      "");
  EXPECT_EQ(
      plan(),
      R"(patch resourcequotas a/q/status: {"status":{"hard":{"count/jobs.batch":"3","cpu":"4","nobody/knows":"1","pods":"10","services":"2"},"used":{"count/jobs.batch":"1","cpu":"1","pods":"2","services":"0"}}})"
      "\n");
}

TEST_F(ResourceQuotaTable, WritesNothingThatSaysTheSame) {
  pod("p");
  quota(R"("hard":{"cpu":"4","other":"1"})",
        R"("hard":{"cpu":"4000m","other":"1"},"used":{"cpu":"0.5","other":"7"})");
  EXPECT_EQ(plan(), "") << "and what it cannot count stays";
  quota(R"("hard":{"cpu":"4"})",
        R"("hard":{"cpu":"4","gone":"1"},"used":{"cpu":"0.5","gone":"1"})");
  EXPECT_EQ(
      plan(),
      R"(patch resourcequotas a/q/status: {"status":{"hard":{"gone":null},"used":{"gone":null,"cpu":"500m"}}})"
      "\n");
}

TEST_F(ResourceQuotaTable, CountsWithinItsScopesOnly) {
  pod("p");
  objects.add(
      kube::kPod,
      R"({"metadata":{"name":"best","namespace":"a"},"spec":{"containers":[{"name":"m"}]}})");
  quota(R"("hard":{"pods":"10"},"scopes":["BestEffort"])",
        R"("hard":{"pods":"10"},"used":{"pods":"9"})");
  EXPECT_EQ(plan(), "patch resourcequotas a/q/status: {\"status\":{\"used\":{\"pods\":\"1\"}}}\n");
}

TEST_F(ResourceQuotaTable, LooksAgainWhenAPodThatNobodyEndsIsPastItsGrace) {
  pod("p", R"(,"deletionTimestamp":"2026-01-01T00:00:45Z","deletionGracePeriodSeconds":30)");
  quota(R"("hard":{"pods":"1"})", R"("hard":{"pods":"1"},"used":{"pods":"1"})");
  EXPECT_EQ(plan(), "again at 2026-01-01T00:01:16Z\n");
  EXPECT_EQ(plan(kNow + 16s),
            "patch resourcequotas a/q/status: {\"status\":{\"used\":{\"pods\":\"0\"}}}\n");
}

TEST_F(ResourceQuotaTable, GivesWhatWasAdmittedTimeToAppear) {
  quota(R"("hard":{"pods":"5"})", R"("hard":{"pods":"5"},"used":{"pods":"1"})");
  EXPECT_EQ(plan(kNow, "drift of a"), "again at 2026-01-01T00:06:00Z\n");
  EXPECT_EQ(plan(kNow + 1min, "drift of a"), "again at 2026-01-01T00:06:00Z\n");
  EXPECT_EQ(plan(kNow + 5min, "drift of a"),
            "patch resourcequotas a/q/status: {\"status\":{\"used\":{\"pods\":\"0\"}}}\n");
  pod("p");
  EXPECT_EQ(plan(kNow, "drift of a"), "") << "it has";
}

TEST(ClusterRoleAggregation, AddsUpTheRulesOfTheRolesItChooses) {
  const auto controllers = *make_controllers({"clusterrole-aggregation-controller"});
  runtime::Objects objects(*controllers[0]);
  objects.add(
      kube::kClusterRole,
      R"({"metadata":{"name":"sum","labels":{"add":"yes"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"add":"yes"}}]}})");
  EXPECT_EQ(objects.reconcile({"", "sum"}).text(), "");
  objects.add(
      kube::kClusterRole,
      R"({"metadata":{"name":"b","labels":{"add":"yes"}},"rules":[{"verbs":["get"]},{"verbs":["list"]}]})");
  objects.add(kube::kClusterRole,
              R"({"metadata":{"name":"a","labels":{"add":"yes"}},"rules":[{"verbs":["list"]}]})");
  objects.add(kube::kClusterRole, R"({"metadata":{"name":"c"},"rules":[{"verbs":["delete"]}]})");
  EXPECT_EQ(objects.reconcile({"", "sum"}).text(),
            R"(patch clusterroles sum: {"rules":[{"verbs":["list"]},{"verbs":["get"]}]})"
            "\n");
  objects.add(
      kube::kClusterRole,
      R"({"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"add":"yes"}}]},"rules":[{"verbs":["list"]},{"verbs":["get"]}]})");
  EXPECT_EQ(objects.reconcile({"", "sum"}).text(), "");
}

}  // namespace
}  // namespace berth::controllers
