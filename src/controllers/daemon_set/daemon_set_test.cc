// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/daemon_set/daemons.h"
#include "controllers/history.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kControllerRevision;
using kube::kDaemonSet;
using kube::kNode;
using kube::kPod;
using kube::Object;
using runtime::Objects;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");

TEST(DaemonFit, AsksForNameLabelsAffinityAndTaints) {
  const Object node = *Object::parse(
      kNode,
      R"({"metadata":{"name":"n1","labels":{"disk":"fast"}},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})");
  const Object evil = *Object::parse(
      kNode, R"({"metadata":{"name":"n2"},"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})");
  const Object sick = *Object::parse(
      kNode,
      R"({"metadata":{"name":"n3"},"spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"},{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},{"key":"x","effect":"PreferNoSchedule"}]}})");
  const auto on = [](const char* spec, const Object& where) {
    const std::string text = fmt::format(R"({{"spec":{}}})", spec);
    const auto answer = DaemonFit(json::Slice(std::string_view(text))).on(where);
    return fmt::format("{} {}", answer.should_run, answer.may_stay);
  };
  const char* kTolerant = R"({"tolerations":[{"operator":"Exists"}]})";
  EXPECT_EQ(on("{}", node), "false true");
  EXPECT_EQ(on("{}", evil), "false false");
  EXPECT_EQ(on("{}", sick), "true true");
  EXPECT_EQ(on(kTolerant, node), "true true");
  EXPECT_EQ(on(kTolerant, evil), "true true");
  EXPECT_EQ(on(R"({"nodeName":"n3"})", sick), "true true");
  EXPECT_EQ(on(R"({"nodeName":"n1"})", sick), "false false");
  EXPECT_EQ(on(R"({"nodeSelector":{"disk":"fast"}})", sick), "false false");
  EXPECT_EQ(on(R"({"nodeSelector":{"disk":"fast"},"tolerations":[{"operator":"Exists"}]})", node),
            "true true");
  EXPECT_EQ(
      on(R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"Exists"}]}]}}}})",
         sick),
      "false false");
}

TEST(FailedDaemons, AreReplacedEverMoreSlowly) {
  FailedDaemons failed("", 1);
  EXPECT_FALSE(failed.waits_until("n", kNow));
  EXPECT_EQ(failed.text(kNow), "");
  failed.replaced("n", kNow);
  EXPECT_EQ(failed.waits_until("n", kNow), kNow + 1s);
  EXPECT_FALSE(failed.waits_until("n", kNow + 1s));
  failed.replaced("n", kNow + 1s);
  FailedDaemons again(failed.text(kNow), 1);
  EXPECT_EQ(again.waits_until("n", kNow + 1s), kNow + 3s);
  for (int i = 0; i < 20; ++i) again.replaced("n", kNow);
  EXPECT_EQ(again.waits_until("n", kNow), kNow + 15min);
  EXPECT_FALSE(again.waits_until("m", kNow));
  EXPECT_FALSE(FailedDaemons(again.text(kNow), 2).waits_until("n", kNow)) << "another generation";
  EXPECT_EQ(again.text(kNow + 31min), "");
}

class DaemonSetTest : public testing::Test {
 protected:
  void nodes(int count) {
    for (int i = 1; i <= count; ++i) {
      objects.add(kNode, fmt::format(R"({{"metadata":{{"name":"n{}"}}}})", i));
    }
  }
  static std::string pod_template(const std::string& image) {
    return fmt::format(
        R"({{"metadata":{{"labels":{{"app":"agent"}}}},"spec":{{"containers":[{{"image":"{}","name":"c"}}],"affinity":{{"podAffinity":{{}},"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"absent","operator":"DoesNotExist"}}]}}]}}}}}}}}}})",
        image);
  }
  void set(const std::string& image = "v1", const std::string& rolling = R"("maxUnavailable":1)",
           const std::string& status = "") {
    objects.add(
        kDaemonSet,
        fmt::format(
            R"({{"metadata":{{"name":"agent","namespace":"default","uid":"d","resourceVersion":"50","generation":1,"annotations":{{"deprecated.daemonset.template.generation":"4"}}}},)"
            R"("spec":{{"selector":{{"matchLabels":{{"app":"agent"}}}},"updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{{}}}}},"template":{}}},"status":{{{}}}}})",
            rolling, pod_template(image), status));
  }
  void revision(const std::string& hash, const std::string& image, int number) {
    const std::string text = pod_template(image);
    objects.add(
        kControllerRevision,
        fmt::format(
            R"({{"metadata":{{"name":"agent-{0}","namespace":"default","labels":{{"app":"agent","controller-revision-hash":"{0}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"d","controller":true}}]}},"data":{1},"revision":{2}}})",
            hash, revision_data(json::Slice(std::string_view(text))), number));
  }
  void pod(
      const std::string& name, const std::string& node, const std::string& hash,
      const std::string& status =
          R"("phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])",
      const std::string& metadata = "") {
    objects.add(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"default","labels":{{"app":"agent","controller-revision-hash":"{}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"d","controller":true}}]{}}},"spec":{{"nodeName":"{}"}},"status":{{{}}}}})",
            name, hash, metadata, node, status));
  }
  std::vector<std::string> actions(const char* verb = "") {
    return objects.actions({"default", "agent"}, kNow, verb);
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"daemonset-controller"});
  Objects objects{*controllers[0]};
};

TEST_F(DaemonSetTest, MakesARevisionThenAPodForEveryNode) {
  set();
  nodes(2);
  EXPECT_THAT(actions(), ElementsAre(StartsWith("create controllerrevisions default/agent-")));
  revision("h1", "v1", 1);
  EXPECT_THAT(actions("create"), SizeIs(2));
  const runtime::Plan made = objects.reconcile({"default", "agent"}, kNow);
  const Object pod =
      *Object::parse(kPod, std::get<runtime::CreateAction>(made.actions().at(0)).json);
  EXPECT_EQ(pod.label("controller-revision-hash"), "h1");
  EXPECT_EQ(pod.label("pod-template-generation"), "4");
  EXPECT_EQ(target_node(pod), "n1");
  EXPECT_EQ(
      pod.member("spec")["affinity"].raw(),
      R"({"podAffinity":{},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}})");
  EXPECT_EQ(pod.member("spec")["tolerations"].size(), 6u);
  EXPECT_THAT(
      actions("patch daemonsets"),
      ElementsAre(HasSubstr(
          R"({"observedGeneration":1,"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":2,"numberReady":0,"numberUnavailable":2})")));
}

TEST_F(DaemonSetTest, RemovesWhatIsTooMuchOrMisplaced) {
  set();
  nodes(1);
  revision("h1", "v1", 1);
  objects.add(kNode, R"({"metadata":{"name":"away","labels":{"absent":"not"}}})");
  pod("first", "n1", "h1", R"("phase":"Running")",
      R"(,"creationTimestamp":"2026-01-01T00:00:00Z")");
  pod("second", "n1", "h1", R"("phase":"Running")",
      R"(,"creationTimestamp":"2026-01-01T00:00:01Z")");
  pod("third", "away", "h1");
  EXPECT_THAT(actions("erase"), testing::UnorderedElementsAre("erase pods default/second",
                                                              "erase pods default/third"));
}

TEST_F(DaemonSetTest, ReplacesWhatEndedNotTooOften) {
  set();
  nodes(1);
  revision("h1", "v1", 1);
  pod("a", "n1", "h1", R"("phase":"Failed")");
  EXPECT_THAT(
      actions("e"),
      ElementsAre("event FailedDaemonPod: Found failed daemon pod default/a on node n1, will "
                  "try to kill it",
                  "erase pods default/a", "event SuccessfulDelete: Deleted pod: a"));
  objects.memory.remembered = objects.reconcile({"default", "agent"}, kNow).remembered();
  EXPECT_THAT(actions("erase"), IsEmpty());
  EXPECT_EQ(objects.reconcile({"default", "agent"}, kNow).again(), kNow + 1s);
  pod("a", "n1", "h1", R"("phase":"Succeeded")");
  EXPECT_THAT(actions("erase"), SizeIs(1));
}

TEST_F(DaemonSetTest, RollsAsManyNodesAsMayBeDown) {
  set("v2");
  nodes(3);
  revision("h1", "v1", 1);
  revision("h2", "v2", 2);
  pod("a", "n1", "h1");
  pod("b", "n2", "h1");
  pod("c", "n3", "h1");
  EXPECT_THAT(actions("erase pods"), ElementsAre("erase pods default/a"));
  pod("a", "n1", "h2", R"("phase":"Running")");
  EXPECT_THAT(actions("erase pods"), IsEmpty()) << "the new one is not ready";
  pod("c", "n3", "h1", R"("phase":"Running")");
  EXPECT_THAT(actions("erase pods"), ElementsAre("erase pods default/c"))
      << "what is down already can be replaced at once";
  set("v2", R"("maxUnavailable":"100%")");
  EXPECT_THAT(actions("erase pods"), SizeIs(2));
}

TEST_F(DaemonSetTest, SurgesBeforeItRemoves) {
  set("v2", R"("maxUnavailable":0,"maxSurge":1)");
  nodes(2);
  revision("h1", "v1", 1);
  revision("h2", "v2", 2);
  pod("a", "n1", "h1");
  pod("b", "n2", "h1");
  EXPECT_THAT(actions("create"), SizeIs(1));
  EXPECT_THAT(actions("erase"), IsEmpty());
  pod("a2", "n1", "h2", R"("phase":"Running")");
  EXPECT_THAT(actions("create"), IsEmpty());
  EXPECT_THAT(actions("erase"), IsEmpty());
  pod("a2", "n1", "h2");
  EXPECT_THAT(actions("erase"), ElementsAre("erase pods default/a"));
}

TEST_F(DaemonSetTest, ATemplateThatComesBackIsTheNewestAgain) {
  set("v1");
  revision("h1", "v1", 1);
  revision("h2", "v2", 2);
  EXPECT_THAT(actions(),
              ElementsAre(R"(patch controllerrevisions default/agent-h1: {"revision":3})"));
  revision("h1", "v1", 3);
  revision("h0", "v1", 2);
  pod("a", "n1", "h0");
  EXPECT_THAT(actions(), ElementsAre(HasSubstr(R"({"controller-revision-hash":"h1"})"),
                                     "erase controllerrevisions default/agent-h0"))
      << "one revision for one template";
}

}  // namespace
}  // namespace berth::controllers
