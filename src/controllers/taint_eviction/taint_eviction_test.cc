// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;

const WallTime kNow = *kube::parse_time("2026-01-01T00:01:00Z");
constexpr const char* kTaint = R"({"key":"k","effect":"NoExecute"})";
constexpr const char* kOther = R"({"key":"other","value":"v","effect":"NoExecute"})";

class TaintEvictionTable : public testing::Test {
 protected:
  void node(const std::string& taints) {
    objects.add(kube::kNode,
                fmt::format(R"({{"metadata":{{"name":"n"}},"spec":{{"taints":[{}]}}}})", taints));
  }
  void pod(const std::string& tolerations, const char* metadata = "") {
    objects.add(
        kube::kPod,
        fmt::format(
            R"({{"metadata":{{"name":"p","namespace":"a"{}}},"spec":{{"nodeName":"n","tolerations":[{}]}}}})",
            metadata, tolerations));
  }
  std::string plan(WallTime now = kNow) {
    runtime::Plan made = objects.reconcile({"a", "p"}, now);
    objects.memory.remembered = made.remembered();
    return made.text();
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"taint-eviction-controller"});
  runtime::Objects objects{*controllers[0]};
};

constexpr const char* kEvicted =
    "event TaintManagerEviction: Marking for deletion Pod a/p\n"
    R"(patch pods a/p/status: {"status":{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"DeletionByTaintManager","message":"Taint manager: deleting due to NoExecute taint","lastTransitionTime":"2026-01-01T00:01:00Z"}]}})"
    "\nerase pods a/p\n";

TEST_F(TaintEvictionTable, DecidesByTaintsAndTolerations) {
  struct Row {
    const char* name;
    std::string taints, tolerations, plan;
  };
  const Row rows[] = {
      {"no taint", "", "", ""},
      {"one that only keeps pods away", R"({"key":"k","effect":"NoSchedule"})", "", ""},
      {"not tolerated", kTaint, "", kEvicted},
      {"tolerated forever", kTaint, R"({"key":"k","operator":"Exists"})", ""},
      {"tolerated for a while", kTaint,
       R"({"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":30})",
       "again at 2026-01-01T00:01:30Z\n"},
      {"not at all, in a way", kTaint, R"({"key":"k","operator":"Exists","tolerationSeconds":-5})",
       kEvicted},
      {"the shortest counts", std::string(kTaint) + "," + kOther,
       R"({"key":"k","operator":"Exists","tolerationSeconds":30},{"key":"other","value":"v","tolerationSeconds":20})",
       "again at 2026-01-01T00:01:20Z\n"},
      {"of those that are used", kTaint,
       R"({"key":"k","operator":"Exists","tolerationSeconds":30},{"operator":"Exists","tolerationSeconds":1})",
       "again at 2026-01-01T00:01:30Z\n"},
      {"one of two", std::string(kTaint) + "," + kOther, R"({"key":"k","operator":"Exists"})",
       kEvicted},
  };
  for (const Row& row : rows) {
    objects.memory.remembered = "";
    node(row.taints);
    pod(row.tolerations);
    EXPECT_EQ(plan(), row.plan) << row.name;
  }
}

TEST_F(TaintEvictionTable, TheFirstDecisionStandsUntilItIsCancelled) {
  node(kTaint);
  pod(R"({"key":"k","operator":"Exists","tolerationSeconds":30})");
  EXPECT_EQ(plan(), "again at 2026-01-01T00:01:30Z\n");
  EXPECT_EQ(plan(kNow + 10s), "again at 2026-01-01T00:01:30Z\n");
  pod(R"({"key":"k","operator":"Exists"})");
  EXPECT_EQ(plan(kNow + 20s), "event TaintManagerEviction: Cancelling deletion of Pod a/p\n");
  EXPECT_EQ(plan(kNow + 20s), "");
  pod(R"({"key":"k","operator":"Exists","tolerationSeconds":30})");
  EXPECT_EQ(plan(kNow + 20s), "again at 2026-01-01T00:01:50Z\n");
  node("");
  EXPECT_EQ(plan(kNow + 20s), "event TaintManagerEviction: Cancelling deletion of Pod a/p\n");
}

TEST_F(TaintEvictionTable, AnEvictionUnderWayIsNotPutOffByAFailure) {
  node(kTaint);
  pod(R"({"key":"k","operator":"Exists","tolerationSeconds":30})");
  plan();
  EXPECT_THAT(plan(kNow + 30s), HasSubstr("erase pods a/p"));
  EXPECT_THAT(plan(kNow + 31s), HasSubstr("erase pods a/p"));
  objects.remove(kube::kPod, {"a", "p"});
  EXPECT_EQ(plan(kNow + 32s), "") << "that is not called a cancellation";
}

TEST_F(TaintEvictionTable, APodThatGoesAlreadyIsOnlyToldWhy) {
  node(kTaint);
  pod("", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_THAT(plan(), HasSubstr("DeletionByTaintManager"));
  EXPECT_THAT(plan(), testing::Not(HasSubstr("erase")));
}

}  // namespace
}  // namespace berth::controllers
