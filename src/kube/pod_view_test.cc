// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_view.h"

#include <gtest/gtest.h>

#include "kube/node_view.h"

namespace berth::kube {
namespace {

TEST(PodView, AnEmptyPodHasTheDefaultsOfTheServer) {
  const PodView pod(*Object::parse(kPod, R"({"metadata":{"name":"p"}})"));
  EXPECT_FALSE(pod.assigned());
  EXPECT_EQ(pod.scheduler_name(), "default-scheduler");
  EXPECT_EQ(pod.phase(), "Pending");
  EXPECT_EQ(pod.priority(), 0);
  EXPECT_FALSE(pod.finished());
  EXPECT_FALSE(pod.condition("PodScheduled"));
}

TEST(PodView, ReadsWhatIsThere) {
  const PodView pod(*Object::parse(kPod, R"({"metadata":{"name":"p"},
    "spec":{"nodeName":"n1","priority":-5,"schedulingGates":[{"name":"g"}],"preemptionPolicy":"Never"},
    "status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"},{"type":"PodScheduled","status":"True"}]}})"));
  EXPECT_EQ(pod.node_name(), "n1");
  EXPECT_EQ(pod.priority(), -5);
  EXPECT_TRUE(pod.gated());
  EXPECT_TRUE(pod.never_preempts());
  EXPECT_TRUE(pod.finished());
  EXPECT_TRUE(pod.condition("PodScheduled")["status"].equals("True"));
}

TEST(NodeView, CapacityStandsInForAllocatable) {
  const NodeView node(
      *Object::parse(kNode, R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4"},
    "conditions":[{"type":"Ready","status":"True"}]}})"));
  EXPECT_TRUE(node.ready());
  EXPECT_EQ(node.allocatable()->at("cpu").text(), "4");
}

TEST(NodeView, ABadQuantityNamesItsPlace) {
  const NodeView node(*Object::parse(
      kNode, R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"four"}}})"));
  const Result<ResourceList> got = node.allocatable();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message.rfind("status.allocatable.cpu: ", 0), 0u) << got.error().message;
}

}  // namespace
}  // namespace berth::kube
