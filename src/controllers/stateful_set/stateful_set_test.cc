// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/history.h"
#include "controllers/registry.h"
#include "controllers/stateful_set/claim_owners.h"
#include "controllers/stateful_set/members.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kControllerRevision;
using kube::kPersistentVolumeClaim;
using kube::kPod;
using kube::kStatefulSet;
using kube::Object;
using runtime::Objects;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");
constexpr const char* kRolling =
    R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}})";
constexpr const char* kReady =
    R"("phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:59:00Z"}])";

TEST(ControllerRevision, KeepsATemplateAsKubernetesDoes) {
  const std::string_view kTemplate =
      R"({"spec":{"containers":[{"name":"c","args":["a<b&c"],"resources":{}}]},"metadata":{"labels":{"app":"web"}}})";
  const std::string data = revision_data(json::Slice(kTemplate));
  EXPECT_EQ(
      data,
      R"({"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"args":["a\u003cb\u0026c"],"name":"c","resources":{}}]}}}})");
  EXPECT_NE(revision_hash(data, 0), revision_hash(data, 1));
  EXPECT_EQ(revision_hash("", 0), revision_hash("", 0));
  const Object kept = *Object::parse(
      kControllerRevision, R"({"metadata":{"name":"r"},"revision":3,"data":)" + data + "}");
  EXPECT_TRUE(same_revision(kept, data));
  EXPECT_EQ(revision_number(kept), 3);
  const std::string back = revision_template(kept);
  EXPECT_EQ(revision_data(json::Slice(std::string_view(back))), data);
  const std::string bare = revision_data(json::Slice(std::string_view(
      R"({"spec":{"containers":[{"name":"c","args":["a<b&c"]}]},"metadata":{"labels":{"app":"web"}}})")));
  EXPECT_FALSE(same_revision(kept, bare));
  EXPECT_TRUE(alike_revision(kept, bare));
}

TEST(StatefulSetMember, IsNamedByItsOrdinal) {
  using Pair = std::pair<std::string_view, std::int64_t>;
  EXPECT_EQ(parent_and_ordinal("web-3"), Pair("web", 3));
  EXPECT_EQ(parent_and_ordinal("web-db-12"), Pair("web-db", 12));
  EXPECT_EQ(parent_and_ordinal("web"), Pair("", -1));
  EXPECT_EQ(parent_and_ordinal("web-"), Pair("", -1));
  EXPECT_EQ(parent_and_ordinal("web-x1"), Pair("", -1));
  EXPECT_EQ(parent_and_ordinal("web-99999999999"), Pair("web", -1));
}

TEST(StatefulSetClaim, IsOwnedAsThePolicyWants) {
  constexpr const char* kSet =
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true,"blockOwnerDeletion":true})";
  constexpr const char* kMember =
      R"({"apiVersion":"v1","kind":"Pod","name":"web-1","uid":"p","controller":true,"blockOwnerDeletion":true})";
  const std::string stale = R"({"apiVersion":"v1","kind":"Pod","name":"web-1","uid":"old"})";
  const std::string stranger =
      R"({"apiVersion":"v1","kind":"Node","name":"n","uid":"n","controller":true})";
  struct Row {
    const char* why;
    const char *scaled, *deleted;
    int replicas;
    std::string before, after;  // after "=": nothing to do
  };
  const Row rows[] = {
      {"kept", "Retain", "Retain", 2, "", "="},
      {"kept again", "Retain", "Retain", 2, kSet, ""},
      {"with the set", "Retain", "Delete", 2, "", kSet},
      {"with the set, beyond", "Retain", "Delete", 1, "", kSet},
      {"is with the set", "Retain", "Delete", 2, kSet, "="},
      {"on scaling, within", "Delete", "Retain", 2, "", "="},
      {"on scaling, beyond", "Delete", "Retain", 1, "", kMember},
      {"on scaling, back", "Delete", "Retain", 2, kMember, ""},
      {"both, within", "Delete", "Delete", 2, "", kSet},
      {"both, beyond", "Delete", "Delete", 1, kSet, kMember},
      {"of a pod before", "Delete", "Delete", 2, stale, "="},
      {"a stranger", "Delete", "Delete", 2, stranger, "="},
      {"a stranger and us", "Delete", "Delete", 2, stranger + "," + kSet, stranger},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    const Object set = *Object::parse(
        kStatefulSet,
        fmt::format(
            R"({{"metadata":{{"name":"web","uid":"s"}},"spec":{{"replicas":{},"persistentVolumeClaimRetentionPolicy":{{"whenScaled":"{}","whenDeleted":"{}"}}}}}})",
            row.replicas, row.scaled, row.deleted));
    const Object claim = *Object::parse(
        kPersistentVolumeClaim,
        fmt::format(R"({{"metadata":{{"name":"www-web-1","ownerReferences":[{}]}}}})", row.before));
    EXPECT_EQ(claim_owners_patch(claim, set, SetSpec(set), {"web-1", "p", 1}).value_or("="),
              row.after == "="
                  ? "="
                  : fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", row.after));
  }
}

class StatefulSetTest : public testing::Test {
 protected:
  const Object& set(int replicas, const std::string& spec = kRolling,
                    const std::string& status = "", const std::string& image = "v1") {
    return objects.add(
        kStatefulSet,
        fmt::format(
            R"({{"metadata":{{"name":"web","namespace":"default","uid":"s","resourceVersion":"50","generation":1}},)"
            R"("spec":{{"replicas":{},"serviceName":"svc","selector":{{"matchLabels":{{"app":"web"}}}},"template":{}{}}},"status":{{{}}}}})",
            replicas, pod_template(image), spec, status));
  }
  static std::string pod_template(const std::string& image) {
    return fmt::format(
        R"({{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"image":"{}","name":"c"}}],"volumes":[{{"name":"tmp","emptyDir":{{}}}}]}}}})",
        image);
  }
  // Its name.
  std::string revision(const std::string& image, int number) {
    const std::string text = pod_template(image);
    const std::string data = revision_data(json::Slice(std::string_view(text)));
    const std::string name = revision_name("web", revision_hash(data, 0));
    objects.add(
        kControllerRevision,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"default","labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true}}]}},"data":{},"revision":{}}})",
            name, data, number));
    return name;
  }
  void pod(int ordinal, const std::string& revision_of, const std::string& status = kReady,
           const std::string& metadata = "") {
    objects.add(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"web-{0}","namespace":"default","labels":{{"app":"web","statefulset.kubernetes.io/pod-name":"web-{0}","controller-revision-hash":"{1}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true}}]{3}}},"spec":{{}},"status":{{{2}}}}})",
            ordinal, revision_of, status, metadata));
  }
  std::vector<std::string> actions(const char* verb = "") {
    return objects.actions({"default", "web"}, kNow, verb);
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"statefulset-controller"});
  Objects objects{*controllers[0]};
};

TEST_F(StatefulSetTest, KeepsItsTemplateBeforeItMakesPods) {
  set(1);
  EXPECT_THAT(actions(), ElementsAre(StartsWith("create controllerrevisions default/web-")));
}

TEST_F(StatefulSetTest, MembersKnowWhoTheyAre) {
  set(2);
  const std::string name = revision("v1", 1);
  const runtime::Plan made = objects.reconcile({"default", "web"}, kNow);
  const auto& create = std::get<runtime::CreateAction>(made.actions().at(0));
  const Object pod = *Object::parse(kPod, create.json);
  EXPECT_EQ(pod.name(), "web-0");
  EXPECT_EQ(pod.label("statefulset.kubernetes.io/pod-name"), "web-0");
  EXPECT_EQ(pod.label("apps.kubernetes.io/pod-index"), "0");
  EXPECT_EQ(pod.label("controller-revision-hash"), name);
  EXPECT_TRUE(pod.member("spec")["hostname"].equals("web-0"));
  EXPECT_TRUE(pod.member("spec")["subdomain"].equals("svc"));
  EXPECT_EQ(pod.controller()->uid, "s");
  EXPECT_THAT(actions(), ElementsAre("create pods default/web-0",
                                     "event SuccessfulCreate: Create Pod web-0 in StatefulSet web "
                                     "successful",
                                     StartsWith("patch statefulsets default/web/status")));
}

TEST_F(StatefulSetTest, AMemberThatIsNotReadyKeepsTheNextOneWaiting) {
  set(3);
  const std::string name = revision("v1", 1);
  pod(0, name, R"("phase":"Running")");
  EXPECT_THAT(actions("create"), IsEmpty());
  pod(0, name);
  EXPECT_THAT(actions("create"), ElementsAre("create pods default/web-1"));
  set(3, std::string(kRolling) + R"(,"minReadySeconds":90)");
  EXPECT_THAT(actions("create"), IsEmpty());
  set(3, std::string(kRolling) + R"(,"podManagementPolicy":"Parallel")");
  EXPECT_THAT(actions("create"),
              ElementsAre("create pods default/web-1", "create pods default/web-2"));
  set(3, std::string(kRolling) + R"(,"ordinals":{"start":5})");
  EXPECT_THAT(actions("create"), ElementsAre("create pods default/web-5"));
}

TEST_F(StatefulSetTest, TheLastMemberGoesFirst) {
  set(1);
  const std::string name = revision("v1", 1);
  for (int i = 0; i < 4; ++i) pod(i, name);
  EXPECT_THAT(actions("erase"), ElementsAre("erase pods default/web-3"));
  pod(3, name, kReady, R"(,"deletionTimestamp":"2026-01-01T00:59:59Z")");
  EXPECT_THAT(actions("erase"), IsEmpty()) << "one at a time";
  pod(3, name);
  pod(1, name, R"("phase":"Pending")");
  EXPECT_THAT(actions("erase"), ElementsAre("erase pods default/web-3"));
  pod(3, name, R"("phase":"Pending")");
  EXPECT_THAT(actions("erase"), IsEmpty()) << "the weaker one is web-1";
}

TEST_F(StatefulSetTest, RollsFromTheLastToTheFirst) {
  set(3, kRolling, "", "v2");
  const std::string one = revision("v1", 1), two = revision("v2", 2);
  for (int i = 0; i < 3; ++i) pod(i, one);
  EXPECT_THAT(actions("erase"), ElementsAre("erase pods default/web-2"));
  pod(2, two, R"("phase":"Running")");
  EXPECT_THAT(actions("erase"), IsEmpty()) << "not before it is available";
  pod(2, two);
  EXPECT_THAT(actions("erase"), ElementsAre("erase pods default/web-1"));
  set(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})", "", "v2");
  EXPECT_THAT(actions("erase"), IsEmpty());
  set(3, R"(,"updateStrategy":{"type":"OnDelete"})", "", "v2");
  EXPECT_THAT(actions("erase"), IsEmpty());
  pod(2, one);
  set(3,
      R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0,"maxUnavailable":2}})",
      "", "v2");
  EXPECT_THAT(actions("erase"),
              ElementsAre("erase pods default/web-2", "erase pods default/web-1"));
  pod(0, one, R"("phase":"Running")");
  EXPECT_THAT(actions("erase"), IsEmpty()) << "the unready one stops an ordered set";
}

TEST_F(StatefulSetTest, BelowThePartitionMembersComeBackAsTheyWere) {
  set(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})", "", "v2");
  const std::string one = revision("v1", 1), two = revision("v2", 2);
  set(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})",
      fmt::format(R"("currentRevision":"{}")", one), "v2");
  pod(0, one);
  const runtime::Plan made = objects.reconcile({"default", "web"}, kNow);
  const Object again =
      *Object::parse(kPod, std::get<runtime::CreateAction>(made.actions().at(0)).json);
  EXPECT_EQ(again.name(), "web-1");
  EXPECT_EQ(again.label("controller-revision-hash"), one);
  EXPECT_THAT(again.json(), HasSubstr(R"("image":"v1")"));
}

TEST_F(StatefulSetTest, ATemplateThatComesBackIsTheNewestAgain) {
  set(1, kRolling, "", "v1");
  const std::string one = revision("v1", 1);
  revision("v2", 2);
  EXPECT_THAT(actions(), ElementsAre(fmt::format(
                             R"(patch controllerrevisions default/{}: {{"revision":3}})", one)));
}

TEST_F(StatefulSetTest, ANameThatIsTakenCountsAsACollision) {
  set(1);
  const std::string name = revision("v1", 1);
  objects.add(
      kControllerRevision,
      fmt::format(R"({{"metadata":{{"name":"{}","namespace":"default"}},"data":{{}}}})", name));
  EXPECT_THAT(
      actions(),
      ElementsAre(R"(patch statefulsets default/web/status: {"status":{"collisionCount":1}})"));
}

TEST_F(StatefulSetTest, StatusCountsWhatThereIs) {
  set(3, kRolling, "", "v2");
  const std::string one = revision("v1", 1), two = revision("v2", 2);
  set(3, kRolling, fmt::format(R"("currentRevision":"{}")", one), "v2");
  pod(0, one);
  pod(1, one);
  pod(2, two, R"("phase":"Pending")");
  EXPECT_THAT(
      actions("patch statefulsets"),
      ElementsAre(HasSubstr(fmt::format(
          R"({{"observedGeneration":1,"replicas":3,"readyReplicas":2,"availableReplicas":2,"currentReplicas":2,"updatedReplicas":1,"updateRevision":"{}","collisionCount":0}})",
          two))));
  for (int i = 0; i < 3; ++i) pod(i, two);
  EXPECT_THAT(actions("patch statefulsets"),
              ElementsAre(testing::AllOf(HasSubstr(fmt::format(R"("currentRevision":"{}")", two)),
                                         HasSubstr(R"("currentReplicas":3,"updatedReplicas":3)"))));
}

TEST_F(StatefulSetTest, ClaimsComeBeforeTheirPod) {
  const std::string claims =
      std::string(kRolling) +
      R"(,"volumeClaimTemplates":[{"metadata":{"name":"www","labels":{"a":"b"}},"spec":{"storageClassName":"fast"}}])";
  set(1, claims);
  revision("v1", 1);
  EXPECT_THAT(actions("create"), ElementsAre("create persistentvolumeclaims default/www-web-0",
                                             "create pods default/web-0"));
  const runtime::Plan made = objects.reconcile({"default", "web"}, kNow);
  EXPECT_EQ(
      std::get<runtime::CreateAction>(made.actions().at(0)).json,
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"www-web-0","namespace":"default","labels":{"a":"b","app":"web"}},"spec":{"storageClassName":"fast"}})");
  const Object pod =
      *Object::parse(kPod, std::get<runtime::CreateAction>(made.actions().at(2)).json);
  EXPECT_EQ(
      pod.member("spec")["volumes"].raw(),
      R"([{"name":"www","persistentVolumeClaim":{"claimName":"www-web-0"}},{"emptyDir":{},"name":"tmp"}])");
  objects.add(
      kPersistentVolumeClaim,
      R"({"metadata":{"name":"www-web-0","namespace":"default","deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  EXPECT_THAT(actions("create"), IsEmpty());
  EXPECT_THAT(actions("event"),
              ElementsAre("event FailedCreate: Create Pod web-0 in StatefulSet web failed error: "
                          "pvc www-web-0 is being deleted"));
}

TEST_F(StatefulSetTest, OldTemplatesAreForgottenBeyondTheLimit) {
  set(0, std::string(kRolling) + R"(,"revisionHistoryLimit":1)", "", "v4");
  std::vector<std::string> names;
  for (int i = 1; i <= 4; ++i) names.push_back(revision("v" + std::to_string(i), i));
  set(0, std::string(kRolling) + R"(,"revisionHistoryLimit":1)",
      fmt::format(R"("currentRevision":"{}")", names[3]), "v4");
  EXPECT_THAT(actions("erase"), ElementsAre("erase controllerrevisions default/" + names[0],
                                            "erase controllerrevisions default/" + names[1]));
}

TEST_F(StatefulSetTest, SaysWhatWentWrong) {
  set(1);
  revision("v1", 1);
  objects.memory.failed =
      runtime::FailedAction{runtime::CreateAction{{kPod, {"default", "web-0"}}, "{}"},
                            Error{.reason = Reason::kForbidden, .message = "exceeded quota"}};
  const auto all = actions();
  EXPECT_EQ(all[0],
            "event FailedCreate: Create Pod web-0 in StatefulSet web failed error: exceeded quota");
  EXPECT_THAT(all[1], StartsWith("patch statefulsets"));
  EXPECT_THAT(all[2], StartsWith("create pods"));
}

}  // namespace
}  // namespace berth::controllers
