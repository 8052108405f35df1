// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/deletion_order.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kPod;
using kube::kReplicaSet;
using kube::Object;
using runtime::Objects;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");

class ReplicaSetTest : public testing::Test {
 protected:
  const Object& set(int replicas, const std::string& metadata = "", const std::string& spec = "",
                    const std::string& status = R"("replicas":0)") {
    return objects.add(
        kReplicaSet,
        fmt::format(
            R"({{"metadata":{{"name":"web","namespace":"default","uid":"rs","resourceVersion":"50","generation":1{}}},)"
            R"("spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},)"
            R"("template":{{"metadata":{{"labels":{{"app":"web"}},"annotations":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c"}}]}}}}{}}},)"
            R"("status":{{{}}}}})",
            metadata, replicas, spec, status));
  }
  void pod(const std::string& name, const std::string& status = R"("phase":"Running")",
           const std::string& owner = "rs", const std::string& labels = R"("app":"web")",
           const std::string& metadata = "", const std::string& spec = R"("nodeName":"n1")") {
    objects.add(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"default","labels":{{{}}}{}{}}},"spec":{{{}}},"status":{{{}}}}})",
            name, labels,
            owner.empty()
                ? ""
                : fmt::format(
                      R"(,"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"{}","controller":true}}])",
                      owner),
            metadata, spec, status));
  }
  runtime::Plan plan() { return objects.reconcile({"default", "web"}, kNow); }
  std::vector<std::string> actions(const char* verb) {
    return objects.actions({"default", "web"}, kNow, verb);
  }

  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"replicaset-controller"});
  Objects objects{*controllers[0]};
};

TEST_F(ReplicaSetTest, MakesThePodsThatAreMissing) {
  set(3);
  pod("web-old");
  pod("web-ended", R"("phase":"Failed")");
  pod("web-foreign", R"("phase":"Running")", "other");
  const runtime::Plan made = plan();
  std::vector<std::string> names;
  for (const runtime::Action& action : made.actions())
    if (const auto* create = std::get_if<runtime::CreateAction>(&action)) {
      names.push_back(create->target.key.name);
      const auto one = *Object::parse(kPod, create->json);
      EXPECT_EQ(one.label("app"), "web");
      EXPECT_EQ(one.annotation("a"), "b");
      EXPECT_EQ(one.controller()->uid, "rs");
      EXPECT_TRUE(one.controller()->block_owner_deletion);
      EXPECT_EQ(one.member("spec").raw(), R"({"containers":[{"name":"c"}]})");
    }
  EXPECT_THAT(names, SizeIs(2));
  for (const std::string& name : names)
    EXPECT_THAT(name, testing::MatchesRegex("web-[bcdfghjklmnpqrstvwxz2456789]{5}"));
  EXPECT_EQ(plan().text(), made.text()) << "the same view, the same names";
}

TEST_F(ReplicaSetTest, APlanMadeAgainAfterHalfOfItWasDoneGoesOn) {
  set(2);
  const auto first = actions("create");
  pod(first[0].substr(first[0].rfind('/') + 1));
  EXPECT_THAT(actions("create"), ElementsAre(first[1]));
}

TEST_F(ReplicaSetTest, MakesAtMostFiveHundredAtATime) {
  set(1200);
  EXPECT_THAT(actions("create"), SizeIs(500));
}

TEST_F(ReplicaSetTest, RemovesThePodsThatAreTooMany) {
  set(1);
  for (const char* name : {"a", "b", "c"}) pod(name);
  pod("pending", R"("phase":"Pending")", "rs", R"("app":"web")", "", "");
  EXPECT_THAT(actions("erase"), SizeIs(3));
  EXPECT_EQ(actions("erase")[0], "erase pods default/pending");
}

TEST_F(ReplicaSetTest, CountsInItsStatus) {
  set(3, "", R"(,"minReadySeconds":60)");
  pod("ready",
      R"("phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])");
  pod("fresh",
      R"("phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:59:30Z"}])");
  pod("starting", R"("phase":"Pending")", "rs", R"("app":"web","more":"yes")");
  pod("leaving", R"("phase":"Running")", "rs", R"("app":"web")",
      R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  const runtime::Plan made = plan();
  EXPECT_EQ(
      made.text(),
      "patch replicasets default/web/status: "
      R"({"status":{"replicas":3,"fullyLabeledReplicas":3,"readyReplicas":2,"availableReplicas":1,"terminatingReplicas":1,"observedGeneration":1}})"
      "\nagain at 2026-01-01T01:00:30Z\n");
}

TEST_F(ReplicaSetTest, WritesNothingWhenAllIsWell) {
  set(1, "", "",
      R"("replicas":1,"fullyLabeledReplicas":1,"terminatingReplicas":0,"observedGeneration":1)");
  pod("a");
  EXPECT_EQ(plan().text(), "");
}

TEST_F(ReplicaSetTest, AdoptsAnOrphanOnlyAfterReadingItselfPastTheCache) {
  const Object& web = set(1);
  pod("stray", R"("phase":"Running")", "");
  EXPECT_EQ(plan().text(), "ask live owner\n");
  objects.memory.answers["live owner"].objects = {web};
  EXPECT_EQ(
      plan().text(),
      R"(patch pods default/stray: {"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"rs","controller":true,"blockOwnerDeletion":true}]}})"
      "\n");
  objects.memory.answers["live owner"] = {};
  EXPECT_EQ(plan().text(), "") << "it is gone, the cache will show it";
}

TEST_F(ReplicaSetTest, LetsGoOfAPodThatItsSelectorNoLongerChooses) {
  set(1);
  pod("changed", R"("phase":"Running")", "rs", R"("app":"other")");
  EXPECT_EQ(plan().text(), "patch pods default/changed: {\"metadata\":{\"ownerReferences\":[]}}\n");
}

TEST_F(ReplicaSetTest, DoesNothingMoreThanCountWhileItIsBeingDeleted) {
  set(3, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  pod("stray", R"("phase":"Running")", "");
  pod("changed", R"("phase":"Running")", "rs", R"("app":"other")");
  pod("mine");
  EXPECT_THAT(plan().text(), HasSubstr("\"replicas\":1"));
  EXPECT_THAT(actions("create"), SizeIs(0));
  EXPECT_THAT(actions("patch pods"), SizeIs(0));
}

TEST_F(ReplicaSetTest, SaysThatItCouldNotCreateAndTriesAgain) {
  set(1);
  objects.memory.failed =
      runtime::FailedAction{runtime::CreateAction{{kPod, {"default", "web-x"}}, "{}"},
                            Error{.reason = Reason::kForbidden,
                                  .message = "pods \"web-x\" is forbidden: exceeded quota"}};
  const std::string text = plan().text();
  EXPECT_THAT(
      text,
      HasSubstr("event FailedCreate: Error creating: pods \"web-x\" is forbidden: exceeded quota"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("type":"ReplicaFailure","status":"True","lastTransitionTime":"2026-01-01T01:00:00Z","reason":"FailedCreate")"));
  EXPECT_LT(text.find("ReplicaFailure"), text.find("create pods"));
  objects.memory.failed.reset();
  set(0, "", "",
      R"("replicas":0,"terminatingReplicas":0,"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True"}])");
  EXPECT_EQ(plan().text(),
            "patch replicasets default/web/status: {\"status\":{\"conditions\":null}}\n");
}

TEST_F(ReplicaSetTest, TriesNothingInANamespaceThatEnds) {
  set(1, "", "", R"("replicas":0,"terminatingReplicas":0,"observedGeneration":1)");
  objects.memory.failed =
      runtime::FailedAction{runtime::CreateAction{{kPod, {"default", "web-x"}}, "{}"},
                            Error{.reason = Reason::kForbidden,
                                  .message = "",
                                  .causes = {{"NamespaceTerminating", "", ""}}}};
  EXPECT_EQ(plan().text(), "");
}

TEST(DeletionOrder, ThosePodsGoFirstWithWhichTheLeastIsLost) {
  struct Row {
    const char* why;
    const char* first;  // members of a pod
    const char* second;
  };
  constexpr const char* kReady =
      R"("status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]})";
  const std::string ready_at_node = fmt::format(R"("spec":{{"nodeName":"n1"}},{})", kReady);
  const Row rows[] = {
      {"unassigned before assigned", R"("status":{"phase":"Running"})",
       R"("spec":{"nodeName":"n1"},"status":{"phase":"Pending"})"},
      {"pending before unknown", R"("status":{"phase":"Pending"})",
       R"("status":{"phase":"Unknown"})"},
      {"unknown before running", R"("status":{"phase":"Unknown"})",
       R"("status":{"phase":"Running"})"},
      {"not ready before ready", R"("status":{"phase":"Running"})", kReady},
      {"cheap before dear",
       R"("metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-5"}})",
       R"("metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"1"}})"},
      {"a cost that is no number is 0",
       R"("metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-1"}})",
       R"("metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-5x"}})"},
      {"crowded before lonely", R"("spec":{"nodeName":"crowd"},"status":{"phase":"Running"})",
       R"("spec":{"nodeName":"n1"},"status":{"phase":"Running"})"},
      {"ready for less time",
       R"("status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:59:00Z"}]})",
       kReady},
      {"more restarts", R"("status":{"phase":"Running","containerStatuses":[{"restartCount":3}]})",
       R"("status":{"phase":"Running","containerStatuses":[{"restartCount":1},{"restartCount":2}]})"},
      {"more restarts of sidecars",
       R"("spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}]},"status":{"phase":"Running","initContainerStatuses":[{"name":"s","restartCount":3}]})",
       R"("spec":{"initContainers":[{"name":"i"}]},"status":{"phase":"Running","initContainerStatuses":[{"name":"i","restartCount":9}]})"},
      {"younger", R"("metadata":{"creationTimestamp":"2026-01-01T00:59:00Z"})",
       R"("metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"})"},
      {"of about the same age by uid",
       R"("metadata":{"uid":"a","creationTimestamp":"2026-01-01T00:00:00Z"})",
       R"("metadata":{"uid":"b","creationTimestamp":"2026-01-01T00:00:01Z"})"},
  };
  const Object crowd =
      *Object::parse(kPod, R"({"metadata":{"name":"x"},"spec":{"nodeName":"crowd"}})");
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    const auto make = [](const char* members) {
      return *Object::parse(kPod, "{" + std::string(members) + "}");
    };
    const Object first = make(row.first), second = make(row.second);
    std::vector<const Object*> pods = {&first, &second};
    order_for_deletion(pods, {&crowd, &crowd, &first, &second}, kNow);
    EXPECT_EQ(pods[0], &first);
    pods = {&second, &first};
    order_for_deletion(pods, {&crowd, &crowd, &first, &second}, kNow);
    EXPECT_EQ(pods[0], &first);
  }
}

}  // namespace
}  // namespace berth::controllers
