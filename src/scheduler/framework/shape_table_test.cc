// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/shape_table.h"

#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"
#include "scheduler/framework/test_plugins.h"

namespace berth::scheduler {
namespace {

using test::Fake;
using test::FakeProfile;

struct SetPart final : ShapePart {
  explicit SetPart(PodSetPtr of) : set(std::move(of)) {}
  PodSetPtr set;
};

PodSetSpec set_named(const std::string& value) {
  PodMatcher matcher;
  matcher.namespaces = {"default"};
  matcher.selector = *kube::LabelSelector::parse("app=" + value);
  PodSetSpec spec;
  spec.all_of.push_back(std::move(matcher));
  return spec;
}

// Counts the pods that are called as the pod is: `compiled` tells how often it was asked to.
Fake counting(int& compiled) {
  return {.points = test::kFilters, .compile = [&compiled](const Pod& pod, ClusterState& cluster) {
            ++compiled;
            const auto app = pod.labels->find("app");
            return std::make_unique<SetPart>(cluster.pod_set(set_named(std::string(*app))));
          }};
}

TEST(ShapeTable, PodsOfOneTemplateShareAShape) {
  int compiled = 0;
  FakeProfile profile({{"Counting", counting(compiled)}});
  ClusterState cluster;
  ShapeTable shapes(*profile, cluster);
  const auto first = shapes.of(*test::pod("a").label("app", "web").cpu("1").compile());
  // A label that no set asks for, as of a StatefulSet, makes no difference.
  const auto second =
      shapes.of(*test::pod("b").label("app", "web").label("index", "1").cpu("1").compile());
  EXPECT_EQ(first, second);
  const int so_far = compiled;
  EXPECT_EQ(shapes.of(*test::pod("c").label("app", "web").cpu("1").compile()), first);
  EXPECT_EQ(compiled, so_far);
  EXPECT_EQ(shapes.size(), 1u);
}

TEST(ShapeTable, SpecNamespaceMembershipAndWhatPluginsAddMakeAnother) {
  int compiled = 0;
  Fake fake = counting(compiled);
  fake.shape_key = [](const Pod& pod) { return pod.controller ? pod.controller->uid : ""; };
  FakeProfile profile({{"Counting", std::move(fake)}});
  ClusterState cluster;
  ShapeTable shapes(*profile, cluster);
  const auto plain = shapes.of(*test::pod("a").label("app", "web").compile());
  EXPECT_NE(shapes.of(*test::pod("a").label("app", "web").cpu("2").compile()), plain);
  EXPECT_NE(shapes.of(*test::pod("a").label("app", "web").ns("other").compile()), plain);
  EXPECT_NE(shapes.of(*test::pod("a").label("app", "db").compile()), plain);
  EXPECT_NE(shapes.of(*test::pod("a")
                           .label("app", "web")
                           .metadata("{ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, "
                                     "name: r, uid: u1, controller: true}]}")
                           .compile()),
            plain);
  EXPECT_EQ(shapes.of(*test::pod("a").label("app", "web").compile()), plain);
}

TEST(ShapeTable, AShapeIsCompiledAgainWhenThePodIsInASetThatIsNew) {
  int compiled = 0;
  FakeProfile profile({{"Counting", counting(compiled)}});
  ClusterState cluster;
  ShapeTable shapes(*profile, cluster);
  const PodPtr pod = test::pod("a").label("app", "web").label("tier", "front").compile();
  const auto before = shapes.of(*pod);
  PodMatcher matcher;
  matcher.all_namespaces = true;
  matcher.selector = *kube::LabelSelector::parse("tier=front");
  PodSetSpec spec;
  spec.all_of.push_back(matcher);
  const PodSetPtr another = cluster.pod_set(spec);
  EXPECT_NE(shapes.of(*pod), before);
}

TEST(ShapeTable, KeepsTheShapesThatWereAskedForLast) {
  FakeProfile profile({{"A", {.points = test::kFilters}}});
  ClusterState cluster;
  ShapeTable shapes(*profile, cluster, {.shapes = 8, .idle = 1000});
  const PodPtr favourite = test::pod("f").cpu("7").compile();
  const std::shared_ptr<Shape> shape = shapes.of(*favourite);
  for (int i = 1; i < 100; ++i) {
    shapes.of(*test::pod("p").memory(std::to_string(i)).compile());
    EXPECT_EQ(shapes.of(*favourite), shape) << i;
    EXPECT_LE(shapes.size(), 8u);
  }
}

TEST(ShapeTable, AShapeThatIsDroppedLivesOnWithItsHolder) {
  int compiled = 0;
  FakeProfile profile({{"Counting", counting(compiled)}});
  ClusterState cluster;
  ShapeTable shapes(*profile, cluster);
  const auto shape = shapes.of(*test::pod("a").label("app", "web").compile());
  shapes.clear();
  EXPECT_EQ(shapes.size(), 0u);
  EXPECT_EQ(static_cast<const SetPart&>(*shape->parts[0]).set->spec().text(),
            set_named("web").text());
}

}  // namespace
}  // namespace berth::scheduler
