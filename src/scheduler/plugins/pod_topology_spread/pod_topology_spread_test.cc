// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/domain_lab.h"
#include "scheduler/plugins/pod_topology_spread/go_log.h"

namespace berth::scheduler {

std::unique_ptr<Plugin> make_pod_topology_spread(const PluginContext&);

namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* kSkewed = "node(s) didn't match pod topology spread constraints";
constexpr const char* kUnlabelled =
    "!node(s) didn't match pod topology spread constraints (missing required label)";
constexpr const char* kHost = "kubernetes.io/hostname";

struct Lab : DomainLab {
  explicit Lab(PluginArgs args = {}) : DomainLab(make_pod_topology_spread, std::move(args)) {}

  // a and b in zone1, x and y in zone2.
  Lab& two_zones() {
    for (const char* name : {"a", "b"}) add(node(name).label("zone", "zone1"));
    for (const char* name : {"x", "y"}) add(node(name).label("zone", "zone2"));
    return *this;
  }
  // So many pods with label foo on a node.
  Lab& pods(const std::string& on, int count) {
    for (; count > 0; --count) add(pod("p" + std::to_string(++made_)).label("foo", "").on(on));
    return *this;
  }
  Lab& counts(std::initializer_list<std::pair<const char*, int>> all) {
    for (const auto& [on, count] : all) pods(on, count);
    return *this;
  }

 private:
  int made_ = 0;
};

PodBuilder foo(std::string_view name = "p") { return pod(name).label("foo", ""); }

TEST(PodTopologySpread, LogarithmsAreGosToTheLastBit) {
  // Over the bits of math.Log(2) to math.Log(70002) as Go 1.26 on amd64 has them.
  std::uint64_t hash = 14695981039346656037ull;
  for (int i = 2; i <= 70002; ++i)
    hash = (hash ^ std::bit_cast<std::uint64_t>(go_log(i))) * 1099511628211ull;
  EXPECT_EQ(hash, 12525778080303201389ull);
}

TEST(PodTopologySpread, RoundsHalfAwayFromZero) {
  for (const double value :
       {0.0, 0.49999999999999994, 0.5, 1.5, 2.5, 2.4999999999999996, 1e9 + 0.5})
    EXPECT_EQ(pod_topology_spread::rounded(value), static_cast<std::int64_t>(std::round(value)));
}

TEST(PodTopologySpread, KeepsTheSkewOfHardConstraints) {
  const struct {
    const char* name;
    std::initializer_list<std::pair<const char*, int>> counts;
    PodBuilder pod;
    std::vector<std::string> fits;
  } rows[] = {
      {"no pods yet", {}, foo().spread(1, "zone", true, "foo", ""), {"a", "b", "x", "y"}},
      {"zones 3 and 2 leave the lesser one",
       {{"a", 2}, {"b", 1}, {"x", 2}},
       foo().spread(1, "zone", true, "foo", ""),
       {"x", "y"}},
      {"a pod that does not match itself may go where it is even",
       {{"a", 2}, {"b", 1}, {"x", 2}},
       pod("p").spread(1, "zone", true, "foo", ""),
       {"a", "b", "x", "y"}},
      {"hosts 2/1/0/3",
       {{"a", 2}, {"b", 1}, {"y", 3}},
       foo().spread(1, kHost, true, "foo", ""),
       {"x"}},
      {"maxSkew 2 allows one more",
       {{"a", 2}, {"b", 1}, {"y", 3}},
       foo().spread(2, kHost, true, "foo", ""),
       {"b", "x"}},
      {"both must hold: zone2, and its host with the fewer",
       {{"a", 1}, {"b", 1}, {"y", 1}},
       foo().spread(1, "zone", true, "foo", "").spread(1, kHost, true, "foo", ""),
       {"x"}},
      {"fewer domains than minDomains: the least is taken as 0",
       {{"a", 1}, {"x", 1}},
       foo().spread(1, "zone", true, "foo", "", "minDomains: 3"),
       {}},
      {"as many as minDomains: the least counts",
       {{"a", 1}, {"x", 1}},
       foo().spread(1, "zone", true, "foo", "", "minDomains: 2"),
       {"a", "b", "x", "y"}},
      {"nodes that the selector leaves out do not count",
       {{"a", 1}},
       foo().node_selector("zone", "zone1").spread(1, kHost, true, "foo", ""),
       {"b", "x", "y"}},
      {"unless the policy says so",
       {{"a", 1}, {"b", 1}},
       foo()
           .node_selector("zone", "zone1")
           .spread(1, kHost, true, "foo", "", "nodeAffinityPolicy: Ignore"),
       {"x", "y"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Lab lab;
    lab.two_zones().counts(row.counts);
    std::vector<std::string> fits;
    for (const auto& [node, why] : lab.filter(row.pod.compile())) {
      if (why.empty()) fits.push_back(node);
      EXPECT_TRUE(why.empty() || why == kSkewed) << why;
    }
    EXPECT_EQ(fits, row.fits);
  }
}

TEST(PodTopologySpread, TheFirstConstraintThatFailsIsTheReason) {
  Lab lab;
  lab.add(node("z"));
  lab.two_zones().counts({{"a", 1}});
  const PodBuilder host_first =
      foo().spread(1, kHost, true, "foo", "").spread(1, "zone", true, "foo", "");
  EXPECT_THAT(lab.filter(host_first.compile()),
              ElementsAre(Pair("a", kSkewed), Pair("b", kSkewed), Pair("x", ""), Pair("y", ""),
                          Pair("z", kUnlabelled)));
}

TEST(PodTopologySpread, ANodeWithoutEveryKeyCountsForNone) {
  Lab lab;
  lab.add(node("z"));
  lab.two_zones().counts({{"a", 1}, {"b", 1}, {"x", 1}, {"y", 1}});
  // z has a host of its own, and with it the least count were 0.
  const PodBuilder both =
      foo().spread(1, kHost, true, "foo", "").spread(5, "zone", true, "foo", "");
  EXPECT_EQ(lab.filter(both.compile()).at("a"), "");
}

TEST(PodTopologySpread, EmptySelectorsCountNothingAndTerminatingPodsDoNotCount) {
  Lab lab;
  lab.two_zones().add(foo("t").on("a").deleting()).add(foo("u").on("a").deleting());
  EXPECT_EQ(lab.filter(foo().spread(1, "zone", true, "foo", "").compile()).at("a"), "");
  lab.counts({{"a", 3}});
  const PodPtr everything =
      foo()
          .spec(
              R"(topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}])")
          .compile();
  EXPECT_EQ(lab.filter(everything).at("a"), "");
  // What is put on a node, however, counts for {} and when it terminates.
  const auto attempt = lab.attempt(everything);
  const PodPtr other = pod("q").deleting().compile();
  EXPECT_EQ(lab.filter_if(*attempt, "a", {{other, +1}}), kSkewed);
  EXPECT_EQ(lab.filter_if(*attempt, "a", {{other, +1}, {other, -1}}), "");
}

TEST(PodTopologySpread, MatchLabelKeysNarrowTheSelectorToThePodsOwnValues) {
  Lab lab;
  lab.two_zones();
  for (const char* name : {"1", "2"}) lab.add(foo(name).label("version", "old").on("a"));
  const auto versioned = [](const char* version) {
    return foo(version)
        .label("version", version)
        .spread(1, "zone", true, "foo", "", "matchLabelKeys: [version, absent]")
        .compile();
  };
  EXPECT_EQ(lab.filter(versioned("new")).at("a"), "");
  EXPECT_EQ(lab.filter(versioned("old")).at("a"), kSkewed);
  EXPECT_NE(lab.shape_key(versioned("old")), lab.shape_key(versioned("new")));
}

TEST(PodTopologySpread, SkipsWithoutAConstraintOfTheKind) {
  Lab lab;
  lab.two_zones();
  const auto soft = lab.attempt(foo().spread(1, "zone", false, "foo", "").compile());
  EXPECT_TRUE(soft->prepared.skipped());
  EXPECT_TRUE(lab.score(*soft).has_value());
  const auto hard = lab.attempt(foo().spread(1, "zone", true, "foo", "").compile());
  EXPECT_TRUE(hard->prepared.ok());
  EXPECT_FALSE(lab.score(*hard).has_value());
}

TEST(PodTopologySpread, ScoresLikeKubeScheduler) {
  const struct {
    const char* name;
    PodBuilder pod;
    std::initializer_list<std::pair<const char*, int>> counts;
    std::vector<std::string> feasible;
    Scores scores;
  } rows[] = {
      {"nothing there yet",
       foo().spread(1, kHost, false, "foo", ""),
       {},
       {"a", "b"},
       {{"a", 100}, {"b", 100}}},
      {"hosts 2/1/0/3",
       foo().spread(1, kHost, false, "foo", ""),
       {{"a", 2}, {"b", 1}, {"y", 3}},
       {"a", "b", "x", "y"},
       {{"a", 20}, {"b", 60}, {"x", 100}, {"y", 0}}},
      {"hosts 2/1/0/3, maxSkew 2",
       foo().spread(2, kHost, false, "foo", ""),
       {{"a", 2}, {"b", 1}, {"y", 3}},
       {"a", "b", "x", "y"},
       {{"a", 33}, {"b", 66}, {"x", 100}, {"y", 16}}},
      {"hosts 4/3/2/1, maxSkew 3",
       foo().spread(3, kHost, false, "foo", ""),
       {{"a", 4}, {"b", 3}, {"x", 2}, {"y", 1}},
       {"a", "b", "x", "y"},
       {{"a", 44}, {"b", 66}, {"x", 77}, {"y", 100}}},
      {"hosts 4/2/1, the fourth does not fit",
       foo().spread(1, kHost, false, "foo", ""),
       {{"a", 4}, {"b", 2}, {"x", 1}, {"y", 3}},
       {"a", "b", "x"},
       {{"a", 33}, {"b", 83}, {"x", 100}}},
      {"zones 6 and 4",
       foo().spread(1, "zone", false, "foo", ""),
       {{"a", 4}, {"b", 2}, {"x", 1}, {"y", 3}},
       {"a", "b", "x"},
       {{"a", 75}, {"b", 75}, {"x", 100}}},
      {"zones 3 and 6, hosts 2 and 2",
       foo().spread(1, "zone", false, "foo", "").spread(1, kHost, false, "foo", ""),
       {{"a", 2}, {"b", 1}, {"x", 2}, {"y", 4}},
       {"a", "x"},
       {{"a", 100}, {"x", 63}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Lab lab;
    lab.two_zones().counts(row.counts);
    EXPECT_EQ(lab.score(row.pod.compile(), row.feasible), row.scores);
  }
}

TEST(PodTopologySpread, ScoresTwoConstraintsWithTwoSelectors) {
  Lab lab;
  lab.two_zones();
  lab.add(pod("a1").label("foo", "").on("a"));
  lab.add(pod("b1").label("foo", "").label("bar", "").on("b"));
  lab.add(pod("y1").label("foo", "").on("y")).add(pod("y2").label("bar", "").on("y"));
  const PodBuilder both =
      foo().label("bar", "").spread(1, "zone", false, "foo", "").spread(1, kHost, false, "bar", "");
  EXPECT_EQ(lab.score(both.compile()), (Scores{{"a", 60}, {"b", 20}, {"x", 100}, {"y", 60}}));
}

TEST(PodTopologySpread, ANodeWithoutTheKeyScoresNothing) {
  Lab lab;
  lab.two_zones().counts({{"a", 4}, {"b", 2}, {"x", 1}, {"y", 3}});
  lab.add(node("b").metadata(R"({"labels":{"kubernetes.io/hostname":null}})"));
  EXPECT_EQ(lab.score(foo().spread(1, kHost, false, "foo", "").compile(), {"a", "b", "x"}),
            (Scores{{"a", 16}, {"b", 0}, {"x", 100}}));
}

TEST(PodTopologySpread, SpreadsByDefaultWhatAServiceSelects) {
  Lab lab;
  for (const char* name : {"a", "b", "c", "d"}) lab.add(node(name));  // none has a zone
  lab.counts({{"a", 4}, {"b", 3}, {"c", 2}, {"d", 1}});
  EXPECT_EQ(lab.score(foo().compile()), std::nullopt);
  lab.cluster.owners().put(*kube::Object::parse(
      kube::kService,
      R"({"metadata":{"name":"s","namespace":"default"},"spec":{"selector":{"foo":""}}})"));
  EXPECT_EQ(lab.score(foo().compile()), (Scores{{"a", 44}, {"b", 66}, {"c", 77}, {"d", 100}}));
  EXPECT_NE(lab.shape_key(foo().compile()), lab.shape_key(pod("p").compile()));
  // A constraint of its own, of either kind, and there are no defaults.
  EXPECT_EQ(lab.score(foo().spread(1, "zone", true, "foo", "").compile()), std::nullopt);
}

TEST(PodTopologySpread, PodsOutsideEveryZoneCountForTheZoneWithoutAName) {
  Lab lab;
  lab.add(node("unnamed").zone("")).add(node("outside")).add(node("inside").zone("1"));
  lab.counts({{"outside", 4}});
  lab.cluster.owners().put(*kube::Object::parse(
      kube::kService,
      R"({"metadata":{"name":"s","namespace":"default"},"spec":{"selector":{"foo":""}}})"));
  // Raw: unnamed 2 + (4 ln 4 + 4) = 12, outside 4 ln 5 + 2 = 8, inside 2 + 4 = 6.
  EXPECT_EQ(lab.score(foo().compile()),
            (Scores{{"unnamed", 50}, {"outside", 83}, {"inside", 100}}));
  lab.add(node("other").zone(""));  // no longer a zone of one node
  EXPECT_EQ(lab.score(foo().compile(), {"unnamed", "outside", "inside"}),
            (Scores{{"unnamed", 50}, {"outside", 83}, {"inside", 100}}));
}

TEST(PodTopologySpread, TaintsKeepNodesFromCountingWhereThePolicySaysSo) {
  Lab lab;
  lab.two_zones().counts({{"a", 1}, {"b", 1}, {"x", 1}});
  lab.add(node("y").label("zone", "zone2").taint("k"));
  EXPECT_EQ(lab.filter(foo().spread(1, kHost, true, "foo", "").compile()).at("a"), kSkewed);
  const PodBuilder honors = foo().spread(1, kHost, true, "foo", "", "nodeTaintsPolicy: Honor");
  EXPECT_EQ(lab.filter(honors.compile()).at("a"), "");
  EXPECT_EQ(lab.filter(PodBuilder(honors).toleration("k").compile()).at("a"), kSkewed);
}

TEST(PodTopologySpread, WhatIfsMoveTheLeastCountToo) {
  Lab lab;
  lab.two_zones().counts({{"a", 1}, {"b", 1}, {"x", 1}, {"y", 1}});
  const auto attempt = lab.attempt(foo().spread(1, kHost, true, "foo", "").compile());
  const PodPtr more = foo("more").compile(), elsewhere = foo("e").ns("elsewhere").compile();
  EXPECT_EQ(lab.filter_if(*attempt, "a", {}), "");
  EXPECT_EQ(lab.filter_if(*attempt, "a", {{more, +1}}), kSkewed);
  EXPECT_EQ(lab.filter_if(*attempt, "a", {{elsewhere, +1}}), "");
  lab.pods("a", 1);
  const auto second = lab.attempt(foo().spread(1, kHost, true, "foo", "").compile());
  const PodPtr one = lab.cluster.pods_on(lab.cluster.node_id("a"))[0];
  EXPECT_EQ(lab.filter_if(*second, "a", {}), kSkewed);
  EXPECT_EQ(lab.filter_if(*second, "a", {{one, -1}}), "");
  // The only node that counts: with its last pod gone the least is 0 as well.
  const auto alone =
      lab.attempt(foo().node_selector(kHost, "x").spread(1, kHost, true, "foo", "").compile());
  const PodPtr last = lab.cluster.pods_on(lab.cluster.node_id("x"))[0];
  EXPECT_EQ(lab.filter_if(*alone, "x", {{last, -1}}), "");
  EXPECT_EQ(lab.filter_if(*alone, "x", {{more, +1}, {foo("n").compile(), +1}}), "");
}

TEST(PodTopologySpread, TooManyOwnCountsAreNotGrouped) {
  Lab lab;
  lab.two_zones();
  PodBuilder many = foo();
  for (const char* label : {"1", "2", "3"}) many.spread(1, kHost, true, label, "");
  EXPECT_EQ(dynamic_cast<Filter&>(lab.plugin()).reach(lab.attempt(many.compile())->shape),
            Reach::kDomain);
  many.spread(1, kHost, false, "4", "");
  EXPECT_EQ(dynamic_cast<Filter&>(lab.plugin()).reach(lab.attempt(many.compile())->shape),
            Reach::kCluster);
}

TEST(PodTopologySpread, ChangesOfPodsThatMakeItWorthAnotherAttempt) {
  using namespace action;
  const PodPtr waiting = foo()
                             .spread(1, "zone", true, "foo", "")
                             .spread(1, "node", true, "bar", "", "nodeTaintsPolicy: Honor")
                             .compile();
  const auto other = [](std::string_view label, std::string_view on = "a") {
    PodBuilder made = pod("other").label(label, "");
    if (!on.empty()) made.on(on);
    return made.compile();
  };
  const PodPtr tolerant = foo().toleration("k").compile();
  const struct {
    const char* name;
    EventAction action;
    PodPtr before, after;
    Hint hint;
  } rows[] = {
      {"a matching pod is added", kAdd, nullptr, other("foo"), Hint::kQueue},
      {"one that matches the other constraint", kAdd, nullptr, other("bar"), Hint::kQueue},
      {"one that does not match", kAdd, nullptr, other("baz"), Hint::kSkip},
      {"one without a node", kAdd, nullptr, other("foo", ""), Hint::kSkip},
      {"one that is promised a node", kAdd, nullptr,
       pod("other").label("foo", "").nominated("a").compile(), Hint::kQueue},
      {"one of another namespace", kAdd, nullptr,
       pod("other").ns("elsewhere").label("foo", "").on("a").compile(), Hint::kSkip},
      {"a matching pod is deleted", kDelete, other("foo"), nullptr, Hint::kQueue},
      {"one that does not match is deleted", kDelete, other("baz"), nullptr, Hint::kSkip},
      {"a pod begins to match", kUpdatePodLabel, other("baz"), other("foo"), Hint::kQueue},
      {"a pod ceases to match", kUpdatePodLabel, other("foo"), other("baz"), Hint::kQueue},
      {"a label that does not matter", kUpdatePodLabel, other("baz"), other("qux"), Hint::kSkip},
      {"nothing of its labels changed", kUpdatePodLabel, other("foo"), other("foo"), Hint::kSkip},
      {"the pod itself tolerates more, and taints count", kUpdatePodToleration, foo().compile(),
       tolerant, Hint::kQueue},
      {"the pod itself no longer matches", kUpdatePodLabel, foo().compile(),
       pod("p").label("baz", "").compile(), Hint::kQueue},
  };
  Lab lab;
  for (const auto& row : rows)
    EXPECT_EQ(lab.hint(waiting, {.event = {EventResource::kAssignedPod, row.action},
                                 .pod_before = row.before,
                                 .pod_after = row.after}),
              row.hint)
        << row.name;
  const PodPtr careless = foo().spread(1, "zone", true, "foo", "").compile();
  EXPECT_EQ(lab.hint(careless, {.event = {EventResource::kUnscheduledPod, kUpdatePodToleration},
                                .pod_before = foo().compile(),
                                .pod_after = tolerant}),
            Hint::kSkip);
}

TEST(PodTopologySpread, ChangesOfNodesThatMakeItWorthAnotherAttempt) {
  using namespace action;
  const PodPtr waiting =
      foo().spread(1, "zone", true, "foo", "").spread(1, "node", true, "foo", "").compile();
  const auto with = [](std::initializer_list<std::pair<const char*, const char*>> labels) {
    NodeBuilder made = node("a");
    for (const auto& [key, value] : labels) made.label(key, value);
    return made;
  };
  const NodePtr none = with({}), one = with({{"zone", "1"}}), other_one = with({{"zone", "2"}}),
                both = with({{"zone", "1"}, {"node", "1"}}),
                moved = with({{"zone", "2"}, {"node", "1"}}),
                extra = with({{"zone", "1"}, {"node", "1"}, {"x", ""}}),
                tainted = with({{"zone", "1"}, {"node", "1"}}).taint("k"),
                tainted_one = with({{"zone", "1"}}).taint("k");
  const struct {
    const char* name;
    EventAction action;
    NodePtr before, after;
    Hint hint;
  } rows[] = {
      {"a node with all keys is added", kAdd, nullptr, both, Hint::kQueue},
      {"one with one of them", kAdd, nullptr, one, Hint::kSkip},
      {"a node with all keys goes", kDelete, both, nullptr, Hint::kQueue},
      {"one without goes", kDelete, none, nullptr, Hint::kSkip},
      {"it gets all keys", kUpdateNodeLabel, one, both, Hint::kQueue},
      {"it loses one", kUpdateNodeLabel, both, one, Hint::kQueue},
      {"it moves", kUpdateNodeLabel, both, moved, Hint::kQueue},
      {"it moves, but lacks a key", kUpdateNodeLabel, one, other_one, Hint::kSkip},
      {"another label changes", kUpdateNodeLabel, both, extra, Hint::kSkip},
      {"its taints change", kUpdateNodeTaint, both, tainted, Hint::kQueue},
      {"its taints change, but it lacks a key", kUpdateNodeTaint, one, tainted_one, Hint::kSkip},
  };
  Lab lab;
  for (const auto& row : rows)
    EXPECT_EQ(lab.hint(waiting, {.event = {EventResource::kNode, row.action},
                                 .node_before = row.before,
                                 .node_after = row.after}),
              row.hint)
        << row.name;
  // Without a hard constraint every node that comes or goes has all its keys.
  EXPECT_EQ(lab.hint(foo().compile(), {.event = {EventResource::kNode, kAdd}, .node_after = none}),
            Hint::kQueue);
}

}  // namespace
}  // namespace berth::scheduler
