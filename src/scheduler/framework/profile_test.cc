// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"
#include "scheduler/framework/test_plugins.h"

namespace berth::scheduler {
namespace {

using test::Fake;
using test::FakeProfile;
using test::kFilters;
using ::testing::ElementsAre;

Fake answering(PreFilterResult result) {
  return {.points = kFilters, .prepare = [result](Cycle&) { return result; }};
}
Fake naming(std::vector<std::string> nodes) { return answering({{}, std::move(nodes)}); }

class Prepare : public ::testing::Test {
 protected:
  Profile::Prepared of(FakeProfile& profile) {
    Cycle cycle{*pod_, shape_, cluster_, {}, {}, {}};
    cycle.states.resize(profile->slots());
    Profile::Prepared prepared = profile->prepare(cycle);
    skipped_ = cycle.skipped;
    return prepared;
  }
  static PluginId id(int i) { return static_cast<PluginId>(i); }

  PodPtr pod_ = test::pod("web").compile();
  Shape shape_;
  ClusterState cluster_;
  PluginSet skipped_;
};

TEST_F(Prepare, PluginsThatSkipAreRemembered) {
  FakeProfile profile({{"A", answering(PreFilterResult::skip())}, {"B", answering({})}});
  EXPECT_TRUE(of(profile).status.ok());
  EXPECT_EQ(skipped_, PluginSet({id(0)}));
}

TEST_F(Prepare, TheLastUnschedulableStandsAndTheOthersStillRun) {
  FakeProfile profile({{"A", answering({Status::unschedulable("first")})},
                       {"B", answering({Status::unschedulable("second")})},
                       {"C", answering(PreFilterResult::skip())}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_EQ(prepared.status.code, Code::kUnschedulable);
  EXPECT_THAT(prepared.status.reasons, ElementsAre("second"));
  EXPECT_EQ(prepared.status.plugin, id(1));
  EXPECT_EQ(prepared.rejectors, PluginSet({id(1)}));
  EXPECT_EQ(skipped_, PluginSet({id(2)}));
}

TEST_F(Prepare, UnresolvableEndsItAtOnce) {
  FakeProfile profile({{"A", answering({Status::unresolvable("never")})},
                       {"B", answering(PreFilterResult::skip())}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_EQ(prepared.status.code, Code::kUnresolvable);
  EXPECT_EQ(prepared.rejectors, PluginSet({id(0)}));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(Prepare, AnythingElseIsAnErrorThatNamesThePlugin) {
  FakeProfile profile({{"A", answering({Status::error("broken")})}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_EQ(prepared.status.code, Code::kError);
  EXPECT_EQ(prepared.status.message(), "running PreFilter plugin \"A\": broken");
}

TEST_F(Prepare, NamedNodesAreIntersected) {
  FakeProfile profile({{"B", naming({"n3", "n1", "n2"})}, {"A", naming({"n2", "n3", "n4"})}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_TRUE(prepared.status.ok());
  EXPECT_THAT(*prepared.named, ElementsAre("n2", "n3"));
  EXPECT_EQ(prepared.absent.message(), "node(s) didn't satisfy plugin(s) [A B]");
  EXPECT_EQ(prepared.absent.code, Code::kUnresolvable);
  EXPECT_EQ(prepared.rejectors, PluginSet({id(0), id(1)}));
}

TEST_F(Prepare, NoNodeNamedByOnePluginIsItsRefusal) {
  FakeProfile profile({{"A", naming({})}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_EQ(prepared.status.code, Code::kUnresolvable);
  EXPECT_EQ(prepared.status.message(), "node(s) didn't satisfy plugin A");
  EXPECT_EQ(prepared.status.plugin, PluginId::kNone);
  EXPECT_EQ(prepared.rejectors, PluginSet({id(0)}));
}

TEST_F(Prepare, NodesThatTwoPluginsDoNotShareAreTheRefusalOfBoth) {
  FakeProfile profile({{"B", naming({"n1"})}, {"A", naming({"n2"})}});
  const Profile::Prepared prepared = of(profile);
  EXPECT_EQ(prepared.status.message(), "node(s) didn't satisfy plugin(s) [A B] simultaneously");
  EXPECT_EQ(prepared.rejectors, PluginSet({id(0), id(1)}));
}

TEST(Profile, APluginWithSeveralRolesIsMadeOnceAndSlotsAreDense) {
  FakeProfile profile({{"A", {.points = kFilters}},
                       {"B", {.points = static_cast<PointSet>(kFilters | test::kScores)}},
                       {"C", {.points = points(Point::kScore), .weight = 3}}});
  ASSERT_EQ(profile->slots(), 3u);
  for (std::size_t slot = 0; slot < 3; ++slot) EXPECT_EQ(profile->plugins()[slot]->slot(), slot);
  EXPECT_EQ(static_cast<Plugin*>(profile->filters()[1]),
            static_cast<Plugin*>(profile->scorers()[0].plugin));
  EXPECT_TRUE(profile->scorers()[0].pre_score);
  EXPECT_FALSE(profile->scorers()[1].pre_score);
  EXPECT_EQ(profile->scorers()[1].weight, 3);
}

// Room for one pod a node, as pods on it are counted.
Fake one_pod_a_node() {
  return {.points = kFilters, .reject = [](const Rows& rows, std::uint32_t row) {
            int pods = 0;
            rows.for_each_pod(row, [&](const Pod&) { ++pods; });
            return pods > 0 ? "taken" : "";
          }};
}

class Nominations final : public NominatedPods {
 public:
  explicit Nominations(std::vector<PodPtr> pods) : pods_(std::move(pods)) {}
  bool empty() const override { return pods_.empty(); }
  std::vector<PodPtr> on(std::string_view node) const override {
    return node == "n1" ? pods_ : std::vector<PodPtr>();
  }
  std::vector<std::string> nodes() const override { return {"n1"}; }

 private:
  std::vector<PodPtr> pods_;
};

TEST(FilterWithNominated, CountsPodsOfThisPriorityAndHigherOnceAndLeavesTheRowAsItWas) {
  struct Row {
    const char* name;
    int priority;
    const char* uid;
    bool fits;
  };
  for (const Row& row : {Row{"higher", 10, "other", false}, Row{"equal", 5, "other", false},
                         Row{"lower", 4, "other", true}, Row{"itself", 10, "me", true}}) {
    FakeProfile profile({{"OnePod", one_pod_a_node()}});
    ClusterState cluster;
    cluster.put_node(test::node("n1").compile());
    cluster.begin_cycle();
    const PodPtr pod = test::pod("web").uid("me").spec("{priority: 5}").compile();
    const Shape shape;
    Cycle cycle{*pod, shape, cluster, {}, {}, {}};
    const auto what_if = profile->what_if(cycle);
    what_if->open(cluster.node_id("n1"));
    const Nominations nominated({test::pod("other")
                                     .uid(row.uid)
                                     .spec(fmt::format("{{priority: {}}}", row.priority))
                                     .compile()});
    const Status status = profile->filter_with_nominated(cycle, *what_if, 0, nominated);
    EXPECT_EQ(status.ok(), row.fits) << row.name;
    EXPECT_TRUE(what_if->added(0).empty()) << row.name;
    EXPECT_EQ(*what_if->rows().pod_room, *cluster.rows().pod_room) << row.name;
  }
}

TEST(WhatIfMoves, ReachOnlyPluginsThatWantThemAndWereNotSkipped) {
  Fake sees = one_pod_a_node();
  sees.sees_moves = true;
  FakeProfile profile({{"Sees", sees}, {"Skipped", sees}, {"Blind", one_pod_a_node()}});
  ClusterState cluster;
  cluster.put_node(test::node("n1").compile());
  cluster.begin_cycle();
  const PodPtr pod = test::pod("web").compile();
  const Shape shape;
  Cycle cycle{*pod, shape, cluster, {}, {}, {}};
  cycle.skipped.insert(static_cast<PluginId>(1));
  const auto what_if = profile->what_if(cycle);
  const std::uint32_t row = what_if->open(cluster.node_id("n1"));
  what_if->add(row, test::pod("a").compile());
  what_if->add(row, test::pod("b").compile());
  EXPECT_THAT(what_if->deltas(row, 0), ElementsAre(2));
  EXPECT_TRUE(what_if->deltas(row, 1).empty());
  EXPECT_TRUE(what_if->deltas(row, 2).empty());
}

}  // namespace
}  // namespace berth::scheduler
