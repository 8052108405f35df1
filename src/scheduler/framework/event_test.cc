// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using test::node;
using test::pod;
using testing::ElementsAre;
using testing::IsEmpty;
using R = EventResource;
using namespace action;

TEST(ClusterEvent, IsLabelledAsInKubeScheduler) {
  const std::pair<ClusterEvent, const char*> rows[] = {
      {{R::kNode, kUpdateNodeTaint}, "NodeUpdateNodeTaint"},
      {{R::kAssignedPod, kDelete}, "AssignedPodDelete"},
      {{R::kUnscheduledPod, kUpdate}, "UnschedulablePodUpdate"},
      {{R::kAssignedPod, kUpdatePodScaleDown}, "AssignedPodUpdatePodScaleDown"},
      {{R::kUnscheduledPod, kUpdatePodGatesEliminated},
       "UnschedulablePodUpdatePodSchedulingGatesEliminated"},
      {{R::kCsiNode, kAdd}, "storage.k8s.io/CSINodeAdd"},
      {{R::kDeviceClass, kUpdate}, "resource.k8s.io/DeviceClassUpdate"},
      {{R::kPersistentVolumeClaim, kAdd}, "PersistentVolumeClaimAdd"},
      {{R::kWildcard, kAll}, "*All"},
      {{R::kNode, kAdd | kUpdateNodeLabel}, "Node"},
      {{R::kWildcard, kAll, "UnschedulableTimeout"}, "UnschedulableTimeout"},
  };
  for (const auto& [event, label] : rows) EXPECT_EQ(event.label(), label);
}

TEST(ClusterEvent, MatchesWhatIsTheSameOrMoreSpecific) {
  struct Row {
    const char* name;
    ClusterEvent registered, incoming;
    bool matches;
  };
  const Row rows[] = {
      {"the same", {R::kNode, kAdd}, {R::kNode, kAdd}, true},
      {"one of several", {R::kNode, kAdd | kUpdateNodeLabel}, {R::kNode, kUpdateNodeLabel}, true},
      {"another action", {R::kNode, kAdd}, {R::kNode, kDelete}, false},
      {"another kind", {R::kNode, kAdd}, {R::kCsiNode, kAdd}, false},
      {"any update", {R::kPod, kUpdate}, {R::kUnscheduledPod, kUpdatePodLabel}, true},
      {"a general update is no label update",
       {R::kPod, kUpdatePodLabel},
       {R::kAssignedPod, kUpdate},
       false},
      {"a larger number that overlaps",
       {R::kNode, kUpdateNodeLabel | kUpdateNodeTaint},
       {R::kNode, kUpdate},
       false},
      {"pods are assigned or not", {R::kPod, kDelete}, {R::kAssignedPod, kDelete}, true},
      {"but not the other way round", {R::kAssignedPod, kDelete}, {R::kPod, kDelete}, false},
      {"everything matches anything", {R::kWildcard, kAll}, {R::kStorageClass, kAdd}, true},
      {"anything of all kinds", {R::kWildcard, kAdd}, {R::kStorageClass, kAdd}, true},
      {"an incoming wildcard", {R::kPod, kAll}, {R::kWildcard, kAll}, false},
      {"two wildcards", {R::kWildcard, kAll}, {R::kWildcard, kAll}, true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(matches(row.registered, row.incoming), row.matches) << row.name;
}

std::vector<std::string> labels_of(const std::vector<ClusterEvent>& events) {
  std::vector<std::string> out;
  for (const ClusterEvent& event : events) out.push_back(event.label());
  return out;
}

TEST(EventsOfUpdate, TellWhatChangedAboutAPodInOrder) {
  const auto changes = [](const PodPtr& a, const PodPtr& b) {
    return labels_of(events_of_update(*a, *b));
  };
  EXPECT_THAT(changes(pod("p").gate("g").cpu("2").status("resourceClaimStatuses: [{name: a}]"),
                      pod("p").label("a", "b").cpu("1").toleration("x")),
              ElementsAre("UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdatePodScaleDown",
                          "UnschedulablePodUpdatePodSchedulingGatesEliminated",
                          "UnschedulablePodUpdatePodToleration",
                          "UnschedulablePodUpdatePodGeneratedResourceClaim"));
  EXPECT_THAT(changes(pod("p").on("n"), pod("p").on("n")), ElementsAre("AssignedPodUpdate"));
  EXPECT_THAT(changes(pod("p").cpu("1"), pod("p").cpu("2")), ElementsAre("UnschedulablePodUpdate"));
  EXPECT_THAT(changes(pod("p").gate("g").gate("h"), pod("p").gate("g")),
              ElementsAre("UnschedulablePodUpdate"));
  EXPECT_THAT(changes(pod("p").toleration("a"), pod("p").toleration("b")),
              ElementsAre("UnschedulablePodUpdate"));
  EXPECT_THAT(changes(pod("p").on("n").request("a/b", "0"), pod("p").on("n")),
              ElementsAre("AssignedPodUpdatePodScaleDown"));
  EXPECT_THAT(changes(pod("p").on("n").cpu("1").status(
                          "containerStatuses: [{name: main, resources: {requests: {cpu: 3}}}]"),
                      pod("p").on("n").cpu("1").status(
                          "containerStatuses: [{name: main, resources: {requests: {cpu: 1}}}]")),
              ElementsAre("AssignedPodUpdatePodScaleDown"));
}

TEST(EventsOfUpdate, TellWhatChangedAboutANodeInOrder) {
  const auto changes = [](const NodePtr& a, const NodePtr& b) {
    return labels_of(events_of_update(*a, *b));
  };
  EXPECT_THAT(changes(node("n").unschedulable(), node("n")
                                                     .cpu("1")
                                                     .label("a", "b")
                                                     .taint("t")
                                                     .condition("Ready", "True")
                                                     .annotation("a", "b")
                                                     .feature("F")),
              ElementsAre("NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel",
                          "NodeUpdateNodeTaint", "NodeUpdateNodeCondition",
                          "NodeUpdateNodeAnnotation", "NodeUpdateNodeDeclaredFeature"));
  EXPECT_THAT(changes(node("n"), node("n").unschedulable()), IsEmpty());
  EXPECT_THAT(changes(node("n").revision(1), node("n").revision(2)), IsEmpty());
  EXPECT_THAT(changes(node("n").pods(1), node("n").pods(2)),
              ElementsAre("NodeUpdateNodeAllocatable"));
}

}  // namespace
}  // namespace berth::scheduler
