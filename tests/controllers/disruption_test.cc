// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/disruption_budget_view.h"
#include "kube/time.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using kube::kPod;
using kube::kPodDisruptionBudget;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

const Key kBudget{"default", "web"};

Controllers disruption() {
  return [] {
    return *make_controllers(
        {"replicaset-controller", "deployment-controller", "disruption-controller"});
  };
}
void budget(Lab& lab, const std::string& rule) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"web","namespace":"default"}},)"
      R"("spec":{{"selector":{{"matchLabels":{{"app":"web"}}}},{}}}}})",
      rule)));
}
void deploy(Lab& lab, int replicas) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"default"}},)"
      R"("spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main"}}]}}}}}}}})",
      replicas)));
}
// "allowed of healthy, desired of expected"
std::string status(Lab& lab) {
  const kube::DisruptionBudgetView view(lab.get(kPodDisruptionBudget, kBudget));
  return fmt::format("{} of {}, {} of {}", view.disruptions_allowed(), view.current_healthy(),
                     view.desired_healthy(), view.expected_pods());
}
std::string condition(Lab& lab) {
  const json::Slice one = lab.get(kPodDisruptionBudget, kBudget).status()["conditions"][0];
  return fmt::format("{} {} {}", one["type"].text(), one["status"].text(), one["reason"].text());
}

TEST(DisruptionStory, CountsByRule) {
  struct Row {
    const char* rule;
    const char* status;
  };
  const Row rows[] = {{R"("minAvailable":4)", "1 of 5, 4 of 5"},
                      {R"("minAvailable":"50%")", "2 of 5, 3 of 5"},
                      {R"("maxUnavailable":1)", "1 of 5, 4 of 5"},
                      {R"("maxUnavailable":"30%")", "2 of 5, 3 of 5"},
                      {R"("minAvailable":9)", "0 of 5, 9 of 5"},
                      {R"("maxUnavailable":0)", "0 of 5, 5 of 5"},
                      {R"("maxUnavailable":"100%")", "5 of 5, 0 of 5"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.rule);
    Lab lab({.controllers = disruption()});
    budget(lab, row.rule);
    deploy(lab, 5);
    lab.run(10s);
    EXPECT_EQ(status(lab), row.status);
    EXPECT_EQ(condition(lab), row.status[0] == '0' ? "DisruptionAllowed False InsufficientPods"
                                                   : "DisruptionAllowed True SufficientPods");
    EXPECT_TRUE(lab.home().idle());
  }
}

TEST(DisruptionStory, FollowsPodsAsTheyComeAndGo) {
  Lab lab({.controllers = disruption()});
  budget(lab, R"("maxUnavailable":1)");
  lab.run(5s);
  EXPECT_EQ(status(lab), "0 of 0, 0 of 0") << "no pods, nothing to disrupt";
  EXPECT_THAT(lab.events(), Contains("NoPods: No matching pods found"));
  lab.life = [](const Object&) { return PodLife{.start = 5s}; };
  deploy(lab, 3);
  lab.run(2s);
  EXPECT_EQ(status(lab), "0 of 0, 2 of 3");
  lab.run(10s);
  EXPECT_EQ(status(lab), "1 of 3, 2 of 3");
  lab.erase(kPod, {"default", lab.names(kPod)[0]});
  lab.run(500ms);
  EXPECT_EQ(status(lab), "0 of 2, 2 of 3");
  lab.run(20s);
  EXPECT_EQ(status(lab), "1 of 3, 2 of 3");
}

TEST(DisruptionStory, AnEvictionThatWasLetThroughCountsUntilThePodGoesOrTwoMinutesPass) {
  Lab lab({.controllers = disruption()});
  budget(lab, R"("maxUnavailable":1)");
  deploy(lab, 3);
  lab.run(10s);
  const std::string pod = lab.names(kPod)[0];
  ASSERT_TRUE(lab.patch(
      kPodDisruptionBudget, kBudget,
      fmt::format(R"({{"status":{{"disruptionsAllowed":0,"disruptedPods":{{"{}":"{}"}}}}}})", pod,
                  kube::time_text(lab.world.clock().wall())),
      "status"));
  lab.run(1min);
  EXPECT_EQ(status(lab), "0 of 2, 2 of 3");
  lab.run(2min);
  EXPECT_EQ(status(lab), "1 of 3, 2 of 3");
  EXPECT_THAT(
      lab.events(),
      Contains("NotDeleted: Pod was expected by PDB default/web to be deleted but it wasn't"));
  EXPECT_TRUE(lab.home().idle());
}

KindId crew_kind() { return kube::learn_kind({"example.com", "v1", "Crew", "crews"}); }
// A server whose Crews can be scaled, and whose Jobs cannot.
LabOptions with_crews() {
  return {.controllers = disruption(),
          .kinds = {kube::kCustomResourceDefinition, kube::kDeployment, kube::kEvent, kube::kJob,
                    kube::kReplicaSet, kube::kReplicationController, kube::kStatefulSet, kPod,
                    kPodDisruptionBudget, crew_kind()},
          .scaled = {crew_kind(), kube::kReplicaSet}};
}
std::string create_crew(Lab& lab, int replicas) {
  const auto crew = lab.create(fmt::format(
      R"({{"apiVersion":"example.com/v1","kind":"Crew","metadata":{{"name":"c","namespace":"default"}},"spec":{{"replicas":{}}}}})",
      replicas));
  return std::string(crew->uid());
}
void create_pod(Lab& lab, const std::string& name, const std::string& owner) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{{"app":"web"}},"ownerReferences":[{{{},"controller":true}}]}},"spec":{{"containers":[{{"name":"main"}}]}}}})",
      name, owner)));
}
std::string crew_ref(const std::string& uid) {
  return fmt::format(R"("apiVersion":"example.com/v1","kind":"Crew","name":"c","uid":"{}")", uid);
}

TEST(DisruptionStory, OwnersOfAnyKindCountByTheirScale) {
  Lab lab(with_crews());
  budget(lab, R"("maxUnavailable":"25%")");
  const std::string uid = create_crew(lab, 4);
  for (const char* pod : {"p0", "p1", "p2", "p3"}) create_pod(lab, pod, crew_ref(uid));
  lab.run(10s);
  EXPECT_EQ(status(lab), "1 of 4, 3 of 4");
  EXPECT_EQ(condition(lab), "DisruptionAllowed True SufficientPods");
  EXPECT_THAT(lab.events(), Not(Contains(StartsWith("CalculateExpectedPodCountFailed"))));
  EXPECT_TRUE(lab.home().idle());
  ASSERT_TRUE(lab.patch(crew_kind(), {"default", "c"}, R"({"spec":{"replicas":8}})"));
  lab.erase(kPod, {"default", "p0"});
  lab.run(10s);
  EXPECT_EQ(status(lab), "0 of 3, 6 of 8");
}

TEST(DisruptionStory, OwnersWithoutAScaleAreToldAndNotDisrupted) {
  struct Row {
    std::string owner, message;
  };
  const Row rows[] = {
      {R"("apiVersion":"batch/v1","kind":"Job","name":"j","uid":"x")",
       "jobs.batch does not implement the scale subresource"},
      {R"("apiVersion":"example.com/v1","kind":"Gang","name":"g","uid":"x")",
       R"(no matches for kind "Gang" in version "example.com/v1")"},
      {R"("apiVersion":"example.com/v2","kind":"Crew","name":"c","uid":"x")",
       R"(no matches for kind "Crew" in version "example.com/v2")"},
      {R"("apiVersion":"example.com/v1","kind":"Crew","name":"nobody","uid":"x")",
       R"(found no controllers for pod "p")"},
      {crew_ref("another"), R"(found no controllers for pod "p")"},
      {R"("apiVersion":"apps/v1","kind":"ReplicaSet","name":"gone","uid":"x")",
       R"(found no controllers for pod "p")"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.owner);
    Lab lab(with_crews());
    create_crew(lab, 1);
    budget(lab, R"("maxUnavailable":1)");
    create_pod(lab, "p", row.owner);
    lab.run(10s);
    EXPECT_EQ(condition(lab), "DisruptionAllowed False SyncFailed");
    EXPECT_EQ(lab.get(kPodDisruptionBudget, kBudget).status()["conditions"][0]["message"].text(),
              row.message);
    EXPECT_THAT(lab.events(),
                Contains("CalculateExpectedPodCountFailed: Failed to calculate the number of "
                         "expected pods: " +
                         row.message));
  }
}

TEST(DisruptionStory, WhatCannotBeCountedIsNotDisrupted) {
  Lab lab(with_crews());
  budget(lab, R"("maxUnavailable":1)");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"x","controller":true}]},"spec":{"containers":[{"name":"main"}]}})"));
  lab.run(10s);
  EXPECT_EQ(condition(lab), "DisruptionAllowed False SyncFailed");
  EXPECT_THAT(lab.events(), Contains(StartsWith("CalculateExpectedPodCountFailed: ")));
  ASSERT_TRUE(lab.patch(kPodDisruptionBudget, kBudget,
                        R"({"spec":{"maxUnavailable":null,"minAvailable":0}})"));
  lab.run(10s);
  EXPECT_EQ(status(lab), "1 of 1, 0 of 1");
}

void drain(Lab& lab) {
  budget(lab, R"("minAvailable":1)");
  deploy(lab, 2);
  lab.run(10min);  // faults take their time
  ASSERT_FALSE(lab.names(kPod).empty());
  lab.erase(kPod, {"default", lab.names(kPod)[0]});
  lab.run(30s);
}
TEST(DisruptionCrashSweep, EndsTheSameWhereverItIsKilled) { crash_sweep({disruption(), drain}); }
TEST(DisruptionFaultSweep, EndsTheSameWhateverTheWireDoes) { fault_sweep({disruption(), drain}); }

}  // namespace
}  // namespace berth::controllers::stories
