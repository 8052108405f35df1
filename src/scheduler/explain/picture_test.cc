// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/kind.h"

namespace berth::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kDefault{"default-scheduler"};

kube::Object object(kube::KindId kind, const std::string& ns, const std::string& name,
                    const std::string& more = "") {
  Result<kube::Object> made =
      kube::Object::parse(kind, R"({"metadata":{"name":")" + name + R"(","namespace":")" + ns +
                                    R"(","uid":")" + ns + name + R"("})" + more + "}");
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}
kube::Object pod(const std::string& ns, const std::string& name, const std::string& more = "") {
  return object(kube::kPod, ns, name, more);
}
kube::Object node(const std::string& name) {
  return object(kube::kNode, "", name,
                R"(,"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}})");
}

TEST(Picture, TakesAPlacedPodOffItsNode) {
  Picture picture;
  picture.add(node("a"));
  picture.add(pod("d", "one", R"(,"spec":{"nodeName":"a"})"));
  picture.add(pod("d", "two", R"(,"spec":{"nodeName":"a"},"status":{"nominatedNodeName":"a"})"));
  const PodPtr seen = picture.pod("d", "two");
  ASSERT_NE(seen, nullptr);
  const Case problem = picture.take(seen, kDefault);
  EXPECT_EQ(problem.id, "d/two");
  EXPECT_EQ(problem.cluster->pod_count(), 1u);
  EXPECT_EQ(problem.cluster->pod("dtwo"), nullptr);
  EXPECT_FALSE(problem.pending->assigned());
  EXPECT_EQ(problem.pending->nominated_node_name, "");
  EXPECT_EQ(seen->node_name, "a") << "what was seen stays";
  EXPECT_EQ(problem.cluster->recount(), "");
}

TEST(Picture, CountsNominationsOfItsOwnSchedulersOnly) {
  Picture picture;
  picture.add(node("a"));
  picture.add(
      pod("d", "mine", R"(,"spec":{"schedulerName":"s"},"status":{"nominatedNodeName":"a"})"));
  picture.add(
      pod("d", "theirs", R"(,"spec":{"schedulerName":"t"},"status":{"nominatedNodeName":"a"})"));
  picture.add(
      pod("d", "ended",
          R"(,"spec":{"schedulerName":"s"},"status":{"nominatedNodeName":"a","phase":"Failed"})"));
  picture.add(pod("d", "asked", R"(,"spec":{"schedulerName":"s"})"));
  const std::vector<std::string> mine{"s"};
  const Case problem = picture.take(picture.pod("d", "asked"), mine);
  std::vector<std::string> names;
  for (const PodPtr& one : problem.nominated.on("a")) names.push_back(one->name);
  EXPECT_THAT(names, ElementsAre("mine"));
}

TEST(Picture, PodsThatHaveEndedTakeNoRoomButCanBeAskedFor) {
  Picture picture;
  picture.add(node("a"));
  picture.add(pod("d", "done", R"(,"spec":{"nodeName":"a"},"status":{"phase":"Succeeded"})"));
  const PodPtr seen = picture.pod("d", "done");
  ASSERT_NE(seen, nullptr);
  const Case problem = picture.take(seen, kDefault);
  EXPECT_EQ(problem.cluster->pod_count(), 0u);
  EXPECT_FALSE(problem.pending->assigned());
}

TEST(Picture, KnowsWhoIsCalledHow) {
  Picture picture;
  picture.add(pod("d", "web"));
  picture.add(pod("e", "web"));
  picture.add(pod("d", "db"));
  EXPECT_EQ(picture.pod("e", "db"), nullptr);
  EXPECT_THAT(picture.pods_in("d"), ElementsAre("web", "db"));
  EXPECT_THAT(picture.namespaces_with("web"), ElementsAre("d", "e"));
}

TEST(Picture, LeavesOutWhatItCannotReadAndSaysSo) {
  Picture picture;
  picture.add(object(kube::kNode, "", "bad", R"(,"status":{"allocatable":{"cpu":"1.5.2"}})"));
  ASSERT_EQ(picture.unreadable().size(), 1u);
  EXPECT_THAT(picture.unreadable().front(), HasSubstr("Node bad: "));
}

}  // namespace
}  // namespace berth::scheduler
