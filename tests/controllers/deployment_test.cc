// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using kube::kDeployment;
using kube::kPod;
using kube::kReplicaSet;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const Key kWeb{"default", "web"};

Controllers deployments() {
  return [] { return *make_controllers({"replicaset-controller", "deployment-controller"}); };
}
void deploy(
    Lab& lab, int replicas, const std::string& more = "",
    const std::string& strategy =
        R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}})") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"default"}},)"
      R"("spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},"strategy":{},"progressDeadlineSeconds":600,"revisionHistoryLimit":10,)"
      R"("template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main","image":"v1"}}]}}}}{}}}}})",
      replicas, strategy, more)));
}
void change(Lab& lab, const std::string& spec) {
  ASSERT_TRUE(lab.patch(kDeployment, kWeb, fmt::format(R"({{"spec":{{{}}}}})", spec)));
}
void image(Lab& lab, const std::string& name) {
  change(lab,
         fmt::format(R"("template":{{"spec":{{"containers":[{{"name":"main","image":"{}"}}]}}}})",
                     name));
}
std::string image_of(const Object& object) {
  const json::Slice spec = object.member("spec");
  return (object.kind() == kPod ? spec : spec["template"]["spec"])["containers"][0]["image"].text();
}
// "v1: 3 of 3" for each set with replicas, in key order.
std::vector<std::string> sets(Lab& lab) {
  std::vector<std::string> out;
  for (const Object& set : lab.list(kReplicaSet))
    if (const auto size = set.member("spec")["replicas"].integer(); size != 0)
      out.push_back(fmt::format("{}: {} of {}", image_of(set),
                                set.status()["availableReplicas"].integer().value_or(0), *size));
  return out;
}
std::string condition(Lab& lab, const char* type) {
  for (const json::Slice one : lab.get(kDeployment, kWeb).status()["conditions"].elements())
    if (one["type"].equals(type))
      return fmt::format("{} {}: {}", one["status"].text(), one["reason"].text(),
                         one["message"].text());
  return "";
}
std::int64_t status(Lab& lab, const char* field) {
  return lab.get(kDeployment, kWeb).status()[field].integer().value_or(0);
}

TEST(DeploymentStory, ARolloutNeverHasTooFewAvailableNorTooMany) {
  Lab lab({.controllers = deployments()});
  deploy(lab, 8);
  lab.run(30s);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v1: 8 of 8"));
  EXPECT_THAT(condition(lab, "Progressing"),
              StartsWith("True NewReplicaSetAvailable: ReplicaSet \"web-"));
  EXPECT_EQ(condition(lab, "Available"),
            "True MinimumReplicasAvailable: Deployment has minimum availability.");
  EXPECT_EQ(lab.get(kDeployment, kWeb).annotation("deployment.kubernetes.io/revision"), "1");
  image(lab, "v2");
  std::size_t most = 0, least = 99;
  for (int i = 0; i < 400; ++i) {
    lab.run(100ms);
    std::size_t live = 0, ready = 0;
    for (const Object& pod : lab.list(kPod)) {
      if (pod.deleting()) continue;
      ++live;
      ready += pod.status()["phase"].equals("Running") ? 1 : 0;
    }
    most = std::max(most, live);
    least = std::min(least, ready);
  }
  EXPECT_EQ(most, 10u);
  EXPECT_GE(least, 6u);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v2: 8 of 8"));
  EXPECT_EQ(status(lab, "updatedReplicas"), 8);
  EXPECT_EQ(status(lab, "unavailableReplicas"), 0);
  EXPECT_EQ(lab.get(kDeployment, kWeb).annotation("deployment.kubernetes.io/revision"), "2");
  EXPECT_THAT(lab.names(kReplicaSet), SizeIs(2));
  EXPECT_THAT(lab.events(),
              Contains(testing::MatchesRegex(
                  "ScalingReplicaSet: Scaled up replica set web-[a-z0-9]+ from 0 to 8")));
  EXPECT_TRUE(lab.home().idle());
}

TEST(DeploymentStory, RecreateStartsNothingBeforeTheLastOldPodHasGone) {
  Lab lab({.controllers = deployments()});
  lab.life = [](const Object&) { return PodLife{.stop = 5s}; };
  deploy(lab, 3, "", R"({"type":"Recreate"})");
  lab.run(30s);
  image(lab, "v2");
  bool mixed = false;
  for (int i = 0; i < 300; ++i) {
    lab.run(100ms);
    std::set<std::string> images;
    for (const Object& pod : lab.list(kPod)) images.insert(image_of(pod));
    mixed |= images.size() > 1;
  }
  EXPECT_FALSE(mixed);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v2: 3 of 3"));
}

TEST(DeploymentStory, GoesBackByKubectlsWayAndByTheOldAnnotation) {
  Lab lab({.controllers = deployments()});
  deploy(lab, 2);
  lab.run(30s);
  image(lab, "v2");
  lab.run(30s);
  image(lab, "v1");  // kubectl rollout undo writes the old template
  lab.run(30s);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v1: 2 of 2"));
  EXPECT_THAT(lab.names(kReplicaSet), SizeIs(2)) << "the old set serves again";
  for (const Object& set : lab.list(kReplicaSet))
    if (image_of(set) == "v1") {
      EXPECT_EQ(set.annotation("deployment.kubernetes.io/revision"), "3");
      EXPECT_EQ(set.annotation("deployment.kubernetes.io/revision-history"), "1");
    }
  ASSERT_TRUE(
      lab.patch(kDeployment, kWeb,
                R"({"metadata":{"annotations":{"deprecated.deployment.rollback.to":"2"}}})"));
  lab.run(30s);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v2: 2 of 2"));
  EXPECT_EQ(lab.get(kDeployment, kWeb).annotation("deprecated.deployment.rollback.to"), "");
  EXPECT_THAT(lab.events(),
              Contains("DeploymentRollback: Rolled back deployment \"web\" to revision 2"));
  ASSERT_TRUE(
      lab.patch(kDeployment, kWeb,
                R"({"metadata":{"annotations":{"deprecated.deployment.rollback.to":"77"}}})"));
  lab.run(30s);
  EXPECT_THAT(lab.events(), Contains(StartsWith("DeploymentRollbackRevisionNotFound: ")));
  EXPECT_THAT(sets(lab), testing::ElementsAre("v2: 2 of 2"));
}

TEST(DeploymentStory, ATemplateThatNeverWorksTimesOutAndTheOldPodsStay) {
  Lab lab({.controllers = deployments()});
  lab.life = [](const Object& pod) {
    return PodLife{.start = image_of(pod) == "bad" ? Duration(1000h) : Duration(1s)};
  };
  deploy(lab, 4);
  lab.run(30s);
  image(lab, "bad");
  lab.run(9min);
  EXPECT_THAT(condition(lab, "Progressing"), StartsWith("True ReplicaSetUpdated"));
  lab.run(2min);
  EXPECT_THAT(
      condition(lab, "Progressing"),
      testing::MatchesRegex(
          "False ProgressDeadlineExceeded: ReplicaSet \"web-.*\" has timed out progressing."));
  EXPECT_EQ(status(lab, "availableReplicas"), 3);
  image(lab, "v1");
  lab.run(1min);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v1: 4 of 4"));
  EXPECT_THAT(condition(lab, "Progressing"), StartsWith("True NewReplicaSetAvailable"));
}

TEST(DeploymentStory, PausesScalesInProportionAndResumes) {
  Lab lab({.controllers = deployments()});
  lab.life = [](const Object& pod) {
    return PodLife{.start = image_of(pod) == "v2" ? Duration(1000h) : Duration(1s)};
  };
  deploy(lab, 8);
  lab.run(30s);
  image(lab, "v2");
  lab.run(30s);
  EXPECT_THAT(sets(lab), testing::UnorderedElementsAre("v1: 6 of 6", "v2: 0 of 4"));
  change(lab, R"("paused":true)");
  lab.run(5s);
  EXPECT_EQ(condition(lab, "Progressing"), "Unknown DeploymentPaused: Deployment is paused");
  change(lab, R"("replicas":16)");
  lab.run(30s);
  EXPECT_THAT(sets(lab), testing::UnorderedElementsAre("v1: 12 of 12", "v2: 0 of 8"));
  image(lab, "v3");
  lab.run(30s);
  EXPECT_THAT(lab.names(kReplicaSet), SizeIs(2)) << "paused";
  change(lab, R"("paused":false)");
  lab.run(1min);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v3: 16 of 16"));
}

TEST(DeploymentStory, KeepsAsManyOldSetsAsItIsTold) {
  Lab lab({.controllers = deployments()});
  deploy(lab, 1, R"(,"revisionHistoryLimit":2)");
  for (int i = 2; i < 7; ++i) {
    lab.run(30s);
    image(lab, fmt::format("v{}", i));
  }
  lab.run(30s);
  std::vector<std::string> kept;
  for (const Object& set : lab.list(kReplicaSet)) kept.push_back(image_of(set));
  EXPECT_THAT(kept, testing::UnorderedElementsAre("v4", "v5", "v6"));
}

TEST(DeploymentStory, AForeignSetOfTheSameNameIsACollisionAndNoMore) {
  Lab lab({.controllers = deployments()});
  deploy(lab, 1);
  lab.run(10s);
  const std::string name = lab.names(kReplicaSet)[0];
  lab.erase(kDeployment, kWeb);
  lab.erase(kReplicaSet, {"default", name});
  for (const std::string& pod : lab.names(kPod)) lab.erase(kPod, {"default", pod});
  lab.run(10s);
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"replicas":0,"selector":{{"matchLabels":{{"app":"other"}}}},"template":{{"metadata":{{"labels":{{"app":"other"}}}}}}}}}})",
      name)));
  deploy(lab, 1);
  lab.run(10s);
  EXPECT_EQ(status(lab, "collisionCount"), 1);
  EXPECT_THAT(sets(lab), testing::ElementsAre("v1: 1 of 1"));
}

std::function<void(Lab&)> several_rollouts(Duration pace) {
  return [pace](Lab& lab) {
    deploy(lab, 2);
    lab.run(pace);
    image(lab, "v2");
    lab.run(pace);
    change(lab, R"("replicas":3)");
    lab.run(pace);
    image(lab, "v1");
    lab.run(pace);
  };
}
TEST(DeploymentCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({deployments(), several_rollouts(1min)});
}
// At a pace that no fault can hold up: a template that nobody saw in time has no revision.
TEST(DeploymentFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({deployments(), several_rollouts(30min)});
}

}  // namespace
}  // namespace berth::controllers::stories
