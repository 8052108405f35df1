// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using test::node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace std::string_literals;

TEST(Node, HoldsWhatTheManifestSays) {
  const NodePtr n = node("n1")
                        .uid("u")
                        .revision(5)
                        .cpu("4")
                        .memory("8Gi")
                        .disk("1Gi")
                        .pods(20)
                        .allocatable("example.com/gpu", "2")
                        .taint("a", "b", "NoExecute")
                        .taint("c")
                        .unschedulable()
                        .annotation("x", "y")
                        .condition("Ready", "True")
                        .feature("Z")
                        .feature("A")
                        .compile();
  EXPECT_EQ(n->name, "n1");
  EXPECT_EQ(n->uid, "u");
  EXPECT_EQ(n->revision, 5u);
  EXPECT_EQ(n->labels->find("kubernetes.io/hostname"), "n1");
  EXPECT_EQ(n->allocatable,
            (Resources{4000, std::int64_t{8} << 30, 1 << 30, {{"example.com/gpu", 2}}}));
  EXPECT_EQ(n->allowed_pods, 20);
  EXPECT_TRUE(n->unschedulable);
  EXPECT_THAT(n->taints,
              ElementsAre(kube::Taint{"a", "b", "NoExecute"}, kube::Taint{"c", "", "NoSchedule"}));
  EXPECT_EQ(n->annotations.find("x"), "y");
  EXPECT_THAT(n->conditions, ElementsAre(Pair("Ready", "True")));
  EXPECT_THAT(n->declared_features, ElementsAre("A", "Z"));
  EXPECT_FALSE(n->document.valid());
  EXPECT_TRUE(node("n1").compile(true)->document.valid());
}

TEST(Node, HasNothingToGiveWhereNothingIsAllocatable) {
  const NodePtr n = node("n1").merge("status: {allocatable: null, capacity: {cpu: 4, pods: 110}}");
  EXPECT_TRUE(n->allocatable.nothing());
  EXPECT_EQ(n->allowed_pods, 0);
}

TEST(Node, ListsEveryNameOfAnImage) {
  const NodePtr n = node("n1").image("a:1", 7).status(
      "images: [{names: [a:1, 'a@sha256:2'], sizeBytes: 7}, {names: null, sizeBytes: 1}]");
  EXPECT_THAT(n->images, ElementsAre(NodeImage{"a:1", 7}, NodeImage{"a@sha256:2", 7}));
}

TEST(Node, IsOrderedByRegionAndZone) {
  const auto key = [](const test::NodeBuilder& builder) { return builder.compile()->zone_key; };
  EXPECT_EQ(key(node("n")), "");
  EXPECT_EQ(key(node("n").zone("z")), ":\0:z"s);
  EXPECT_EQ(key(node("n").region("r")), "r:\0:"s);
  EXPECT_EQ(key(node("n").region("r").zone("z")), "r:\0:z"s);
  EXPECT_EQ(key(node("n").zone("z").label("failure-domain.beta.kubernetes.io/zone", "old")),
            ":\0:old"s);
  EXPECT_EQ(key(node("n").zone("z").label("failure-domain.beta.kubernetes.io/zone", "")), "");
}

TEST(Node, NamesTheFieldThatCannotBeRead) {
  const auto made = Node::compile(node("n").cpu("many").object());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("status.allocatable.cpu"));
}

}  // namespace
}  // namespace berth::scheduler
