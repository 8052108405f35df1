// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string named(const std::string& kind, const std::string& name, const std::string& more = "") {
  return R"({"kind":")" + kind + R"(","metadata":{"name":")" + name +
         R"(","namespace":"d","uid":")" + name + R"("})" + more + "}";
}
std::string pod_on(const std::string& name, const std::string& node) {
  return named("Pod", name, R"(,"spec":{"nodeName":")" + node + R"("})");
}
std::string waiting(const std::string& name, const std::string& node,
                    const std::string& spec = "{}") {
  return named("Pod", name,
               R"(,"spec":)" + spec + R"(,"status":{"nominatedNodeName":")" + node + R"("})");
}

TEST(Case, HoldsTheClusterAsDescribed) {
  const Result<Case> problem = read_case(
      R"({"id":"x","nodes":[)" + named("Node", "n1") + "," + named("Node", "n2") + R"(],"pods":[)" +
      pod_on("a", "n2") + "," + pod_on("b", "n2") +
      R"(],"namespaces":[{"metadata":{"name":"d","labels":{"team":"red"}}}],"services":null,"pending":)" +
      named("Pod", "p") + "}");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->id, "x");
  problem->cluster->begin_cycle();
  EXPECT_THAT(problem->cluster->node_order(), ElementsAre("n1", "n2"));
  EXPECT_EQ(problem->cluster->pods_on(problem->cluster->node_id("n2")).size(), 2u);
  EXPECT_EQ(problem->cluster->namespace_labels("d").find("team"), "red");
  EXPECT_EQ(problem->pending->name, "p");
  EXPECT_TRUE(problem->nominated.empty());
}

TEST(Case, PodsThatAreDoneAreNotThere) {
  const Result<Case> problem =
      read_case(R"({"id":"x","nodes":[)" + named("Node", "n1") + R"(],"pods":[)" +
                named("Pod", "a", R"(,"spec":{"nodeName":"n1"},"status":{"phase":"Succeeded"})") +
                R"(],"pending":)" + named("Pod", "p") + "}");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->cluster->pod_count(), 0u);
}

TEST(Case, NominatesInOrderWhoIsNotGatedAndStatesANode) {
  const Result<Case> problem =
      read_case(R"({"id":"x","nominated":[)" + waiting("a", "n1") + "," + waiting("b", "n2") + "," +
                waiting("c", "n1") + "," + waiting("none", "") + "," +
                waiting("gated", "n1", R"({"schedulingGates":[{"name":"g"}]})") + "," +
                waiting("b", "n1") + R"(],"pending":)" + named("Pod", "p") + "}");
  ASSERT_TRUE(problem) << problem.error().message;
  std::vector<std::string> names;
  for (const PodPtr& pod : problem->nominated.on("n1")) names.push_back(pod->name);
  EXPECT_THAT(names, ElementsAre("a", "c", "b"));  // b was told anew
  EXPECT_THAT(problem->nominated.nodes(), ElementsAre("n1"));
}

TEST(Case, AnErrorNamesTheFieldThatIsWrong) {
  const std::string pending = R"(,"pending":)" + named("Pod", "p") + "}";
  const std::pair<std::string, std::string> wrong[] = {
      {"[]", "a case is one JSON object on one line"},
      {R"({"id":"x")", "column 10: expected ',' or '}'; a case is one JSON"},
      {R"({"id":7)" + pending, "id: a case has one, a string"},
      {R"({"id":"x"})", "pending: is missing"},
      {R"({"id":"x","node":[])" + pending,
       "node: a case has no such member; did you mean \"nodes\"?"},
      {R"({"id":"x","remark":1)" + pending, "remark: a case has no such member; remove it"},
      {R"({"id":"x","nodes":{})" + pending, "nodes: must be a list"},
      {R"({"id":"x","nodes":[3])" + pending, "nodes[0]: must be an object"},
      {R"({"id":"x","nodes":[)" + named("Pod", "n") + "]" + pending, "nodes[0]: "},
      {R"({"id":"x","nodes":[{}])" + pending, "nodes[0]: metadata.name: is missing"},
      {R"({"id":"x","nodes":[)" + named("Node", "n") + "," + named("Node", "n") + "]" + pending,
       "nodes[1]: metadata.name: n is there twice"},
      {R"({"id":"x","nodes":[)" +
           named("Node", "n", R"(,"status":{"allocatable":{"cpu":"many"}})") + "]" + pending,
       "nodes[0]: status.allocatable"},
      {R"({"id":"x","pods":[)" + pod_on("a", "n") + "," + pod_on("a", "n") + "]" + pending,
       "pods[1]: metadata.uid: a is there twice"},
      {R"({"id":"x","pods":[)" + named("Pod", "a") + "]" + pending,
       "pods[0]: spec.nodeName: is missing"},
  };
  for (const auto& [json, says] : wrong) {
    const Result<Case> problem = read_case(json);
    ASSERT_FALSE(problem) << json;
    EXPECT_THAT(problem.error().message, HasSubstr(says)) << json;
  }
}

}  // namespace
}  // namespace berth::scheduler
