// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Key kWeb{"default", "web"};

Controllers sets() {
  return [] { return *make_controllers({"statefulset-controller"}); };
}
void stateful_set(Lab& lab, int replicas, const std::string& more = "") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web","namespace":"default"}},)"
      R"("spec":{{"replicas":{},"serviceName":"web","selector":{{"matchLabels":{{"app":"web"}}}},"updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{"partition":0}}}},)"
      R"("template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main","image":"v1"}}]}}}}{}}}}})",
      replicas, more)));
}
void change(Lab& lab, const std::string& spec) {
  ASSERT_TRUE(lab.patch(kube::kStatefulSet, kWeb, fmt::format(R"({{"spec":{{{}}}}})", spec)));
}
void image(Lab& lab, const std::string& name) {
  change(lab,
         fmt::format(R"("template":{{"spec":{{"containers":[{{"name":"main","image":"{}"}}]}}}})",
                     name));
}
std::int64_t number(Lab& lab, const char* field) {
  return lab.get(kube::kStatefulSet, kWeb).status()[field].integer().value_or(0);
}
std::string text(Lab& lab, const char* field) {
  return lab.get(kube::kStatefulSet, kWeb).status()[field].text();
}
std::vector<std::string> images(Lab& lab) {
  std::vector<std::string> out;
  for (const Object& pod : lab.list(kube::kPod))
    out.push_back(pod.member("spec")["containers"][0]["image"].text());
  return out;
}
constexpr const char* kClaims =
    R"(,"volumeClaimTemplates":[{"metadata":{"name":"www"},"spec":{"accessModes":["ReadWriteOnce"]}}])";

TEST(StatefulSetStory, GrowsAndShrinksOneByOne) {
  Lab lab({.controllers = sets()});
  lab.life = [](const Object&) { return PodLife{.start = 10s, .stop = 10s}; };
  stateful_set(lab, 3);
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0"));
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0", "web-1"));
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0", "web-1", "web-2"));
  EXPECT_EQ(number(lab, "readyReplicas"), 3);
  EXPECT_EQ(number(lab, "availableReplicas"), 3);
  EXPECT_EQ(text(lab, "currentRevision"), text(lab, "updateRevision"));
  EXPECT_THAT(lab.names(kube::kControllerRevision), ElementsAre(text(lab, "updateRevision")));
  change(lab, R"("replicas":1)");
  lab.run(5s);
  EXPECT_TRUE(lab.get(kube::kPod, {"default", "web-2"}).deleting());
  EXPECT_FALSE(lab.get(kube::kPod, {"default", "web-1"}).deleting());
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0"));
  EXPECT_EQ(number(lab, "replicas"), 1);
  EXPECT_TRUE(lab.home().idle());
}

TEST(StatefulSetStory, AParallelSetDoesAllAtOnce) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 3, R"(,"podManagementPolicy":"Parallel")");
  lab.run(500ms);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3));
  lab.run(10s);
  change(lab, R"("replicas":0)");
  lab.run(500ms);
  for (const Object& pod : lab.list(kube::kPod)) EXPECT_TRUE(pod.deleting());
}

TEST(StatefulSetStory, RollsOutAndBack) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 3);
  lab.run(30s);
  const std::string first = text(lab, "currentRevision");
  image(lab, "v2");
  lab.run(500ms);
  EXPECT_NE(text(lab, "updateRevision"), first);
  EXPECT_EQ(text(lab, "currentRevision"), first);
  EXPECT_TRUE(lab.get(kube::kPod, {"default", "web-2"}).deleting());
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v2", "v2", "v2"));
  EXPECT_EQ(text(lab, "currentRevision"), text(lab, "updateRevision"));
  EXPECT_EQ(number(lab, "currentReplicas"), 3);
  image(lab, "v1");
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v1", "v1", "v1"));
  EXPECT_EQ(text(lab, "currentRevision"), first) << "the revision is known";
  EXPECT_THAT(lab.names(kube::kControllerRevision), SizeIs(2));
}

TEST(StatefulSetStory, APartitionKeepsTheFirstOnesBack) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 3);
  lab.run(30s);
  change(lab, R"("updateStrategy":{"rollingUpdate":{"partition":2}})");
  image(lab, "v2");
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v1", "v1", "v2"));
  EXPECT_EQ(number(lab, "updatedReplicas"), 1);
  EXPECT_EQ(number(lab, "currentReplicas"), 2);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "web-0"}));
  lab.run(30s);
  EXPECT_THAT(images(lab), ElementsAre("v1", "v1", "v2")) << "it comes back as it was";
  change(lab, R"("updateStrategy":{"rollingUpdate":{"partition":0}})");
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v2", "v2", "v2"));
}

TEST(StatefulSetStory, OnDeleteWaitsForTheUser) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 2);
  lab.run(30s);
  ASSERT_TRUE(lab.patch(kube::kStatefulSet, kWeb,
                        R"({"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}})"));
  image(lab, "v2");
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v1", "v1"));
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "web-0"}));
  lab.run(1min);
  EXPECT_THAT(images(lab), ElementsAre("v2", "v1"));
}

TEST(StatefulSetStory, AMemberThatEndsIsMadeAgainUnderItsName) {
  Lab lab({.controllers = sets()});
  std::string doomed;
  lab.life = [&](const Object& pod) {
    if (pod.name() == "web-1" && doomed.empty()) doomed = pod.uid();
    return PodLife{.run = pod.uid() == doomed ? std::optional<Duration>(5s) : std::nullopt};
  };
  stateful_set(lab, 2);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0", "web-1"));
  EXPECT_NE(lab.get(kube::kPod, {"default", "web-1"}).uid(), doomed);
  EXPECT_EQ(number(lab, "readyReplicas"), 2);
}

TEST(StatefulSetStory, ReadyForAWhileMeansAvailable) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 2, R"(,"minReadySeconds":20)");
  lab.run(15s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0"));
  EXPECT_EQ(number(lab, "readyReplicas"), 1);
  EXPECT_EQ(number(lab, "availableReplicas"), 0);
  lab.run(1min);
  EXPECT_EQ(number(lab, "availableReplicas"), 2);
}

TEST(StatefulSetStory, ClaimsStayUnlessThePolicySaysOtherwise) {
  Lab lab({.controllers = sets()});
  stateful_set(
      lab, 2,
      std::string(kClaims) +
          R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"})");
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPersistentVolumeClaim), ElementsAre("www-web-0", "www-web-1"));
  const auto owner = [&](const char* name) {
    const auto owners = lab.get(kube::kPersistentVolumeClaim, {"default", name}).owners();
    return owners.size() == 1 ? owners[0].kind : std::to_string(owners.size());
  };
  EXPECT_EQ(owner("www-web-1"), "StatefulSet");
  change(lab, R"("replicas":1)");
  lab.run(30s);
  EXPECT_EQ(owner("www-web-1"), "Pod") << "the garbage collector takes it with the pod";
  change(lab, R"("replicas":2)");
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0")) << "the old claim has to go first";
  ASSERT_TRUE(lab.erase(kube::kPersistentVolumeClaim, {"default", "www-web-1"}));
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("web-0", "web-1"));
  EXPECT_EQ(owner("www-web-1"), "StatefulSet");
  ASSERT_TRUE(lab.patch(kube::kStatefulSet, kWeb,
                        R"({"spec":{"persistentVolumeClaimRetentionPolicy":null}})"));
  lab.run(30s);
  EXPECT_EQ(owner("www-web-0"), "0");
}

TEST(StatefulSetStory, TakesOverFromAnotherSetOfThatName) {
  Lab lab({.controllers = sets()});
  stateful_set(lab, 2);
  lab.run(30s);
  const Object before = lab.get(kube::kPod, {"default", "web-0"});
  const std::string revision = text(lab, "currentRevision");
  // As the garbage collector leaves what is orphaned.
  ASSERT_TRUE(lab.erase(kube::kStatefulSet, kWeb));
  for (const char* pod : {"web-0", "web-1"})
    ASSERT_TRUE(lab.patch(kube::kPod, {"default", pod}, R"({"metadata":{"ownerReferences":[]}})"));
  ASSERT_TRUE(lab.patch(kube::kControllerRevision, {"default", revision},
                        R"({"metadata":{"ownerReferences":[]}})"));
  stateful_set(lab, 2);
  lab.run(30s);
  EXPECT_EQ(lab.get(kube::kPod, {"default", "web-0"}).uid(), before.uid());
  EXPECT_EQ(text(lab, "currentRevision"), revision);
  EXPECT_EQ(number(lab, "readyReplicas"), 2);
}

void a_life(Lab& lab) {
  stateful_set(
      lab, 3,
      std::string(kClaims) +
          R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain","whenDeleted":"Delete"})");
  lab.run(10min);
  image(lab, "v2");
  lab.run(10min);
  change(lab, R"("replicas":1)");
  lab.run(10min);
  image(lab, "v1");
  change(lab, R"("replicas":2,"podManagementPolicy":"Parallel")");
  lab.run(10min);
}
TEST(StatefulSetCrashSweep, EndsTheSameWhereverItIsKilled) { crash_sweep({sets(), a_life}); }
TEST(StatefulSetFaultSweep, EndsTheSameWhateverTheWireDoes) { fault_sweep({sets(), a_life}); }

}  // namespace
}  // namespace berth::controllers::stories
