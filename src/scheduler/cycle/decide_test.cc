// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/decide.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"
#include "scheduler/framework/test_plugins.h"

namespace berth::scheduler {
namespace {

using test::Fake;
using test::FakeProfile;
using test::kFilters;
using test::kScores;
using ::testing::ElementsAre;

class Nominations final : public NominatedPods {
 public:
  bool empty() const override { return pods.empty(); }
  std::vector<PodPtr> on(std::string_view node) const override {
    std::vector<PodPtr> found;
    for (const PodPtr& pod : pods)
      if (pod->nominated_node_name == node) found.push_back(pod);
    return found;
  }
  std::vector<std::string> nodes() const override {
    std::set<std::string> names;
    for (const PodPtr& pod : pods) names.insert(pod->nominated_node_name);
    return {names.begin(), names.end()};
  }
  std::vector<PodPtr> pods;
};

// Nodes n0, n1, … in this order, a profile of fakes, and their decider.
class Lab {
 public:
  Lab(int nodes, std::vector<std::pair<std::string, Fake>> fakes, DeciderSpec spec = {})
      : profile(std::move(fakes)) {
    for (int i = 0; i < nodes; ++i) cluster.put_node(test::node(fmt::format("n{}", i)).compile());
    decider.emplace(*profile, cluster, profile.reasons, &nominated, start, spec);
  }
  Decision decide(const PodPtr& pod, const DecideOptions& options = {}) {
    return decider->decide(pod, options);
  }
  Decision decide(const DecideOptions& options = {}) {
    return decide(test::pod("web").compile(), options);
  }
  std::string name(std::uint32_t row) const { return cluster.node(cluster.table().node[row]).name; }

  FakeProfile profile;
  ClusterState cluster;
  Nominations nominated;
  SearchStart start;
  std::optional<Decider> decider;
};

// Refuses the nodes with these names.
Fake refusing(std::set<std::string> names, std::string reason = "no") {
  return {.points = kFilters, .reject = [=](const Rows& rows, std::uint32_t row) {
            return names.contains(rows.cluster->node(rows.node[row]).name) ? reason : "";
          }};
}
Fake scoring(std::map<std::string, std::int64_t> by_node, std::int32_t weight = 1) {
  return {.points = kScores,
          .score =
              [=](const Node& node) {
                const auto at = by_node.find(node.name);
                return at == by_node.end() ? 0 : at->second;
              },
          .weight = weight};
}

TEST(Decide, TakesTheNodeWithTheHighestTotal) {
  Lab lab(4, {{"F", refusing({"n3"})},
              {"S", scoring({{"n1", 40}, {"n2", 30}, {"n3", 100}})},
              {"T", scoring({{"n2", 20}}, 2)}});
  const Decision decision = lab.decide({.scores = true});
  EXPECT_EQ(decision.node, "n2");
  EXPECT_THAT(decision.totals, ElementsAre(0, 40, 70));
  EXPECT_EQ(decision.evaluated, 4u);
  ASSERT_EQ(decision.scores.size(), 2u);
  EXPECT_THAT(decision.scores[1].weighted, ElementsAre(0, 0, 40));
}

TEST(Decide, NormalizesOverFeasibleNodesOnly) {
  Fake fake = scoring({{"n0", 5}, {"n1", 10}, {"n2", 1000}});
  fake.normalization = Normalize::kDefault;
  Lab lab(3, {{"F", refusing({"n2"})}, {"S", fake}});
  EXPECT_THAT(lab.decide().totals, ElementsAre(50, 100));
}

TEST(Decide, ASkippedScorerIsAbsent) {
  Fake skipping = scoring({{"n0", 5}});
  skipping.prepare_score = [](Cycle&, const FeasibleSummary&) { return Status::skip(); };
  Lab lab(2, {{"S", skipping}, {"T", scoring({{"n1", 1}})}});
  const Decision decision = lab.decide({.scores = true});
  EXPECT_EQ(decision.node, "n1");
  ASSERT_EQ(decision.scores.size(), 1u);
  EXPECT_EQ(lab.profile->plugin_name(decision.scores[0].plugin), "T");
}

TEST(Decide, TheOnlyNodeIsTakenWithoutScores) {
  Fake failing = scoring({});
  failing.prepare_score = [](Cycle&, const FeasibleSummary&) { return Status::error("broken"); };
  Lab lab(2, {{"F", refusing({"n0"})}, {"S", failing}});
  const Decision decision = lab.decide();
  EXPECT_TRUE(decision.status.ok());
  EXPECT_EQ(decision.node, "n1");
  EXPECT_TRUE(decision.totals.empty());
  const Decision scored = lab.decide({.scores = true});
  EXPECT_EQ(scored.status.message(), "running PreScore plugin \"S\": broken");
}

TEST(Decide, AScoreOutOfRangeEndsTheAttempt) {
  Lab lab(2, {{"S", scoring({{"n1", 101}})}});
  EXPECT_EQ(lab.decide().status.message(),
            "applying score defaultWeights on Score plugins: plugin \"S\" returns an invalid score "
            "101, it should in the range of [0, 100] after normalizing");
}

TEST(Decide, WithoutNodesThereIsNothingToDecide) {
  Lab lab(0, {{"S", scoring({})}});
  const Decision decision = lab.decide();
  EXPECT_EQ(decision.status.code, Code::kUnresolvable);
  EXPECT_EQ(decision.status.message(), "no nodes available to schedule pods");
  EXPECT_TRUE(decision.diagnosis.unschedulable.empty());
}

TEST(Decide, WhereNothingFitsEveryNodeHasAVerdict) {
  Lab lab(3, {{"F", refusing({"n0", "n1"}, "first")}, {"G", refusing({"n0", "n2"}, "!second")}});
  const Decision decision = lab.decide();
  EXPECT_EQ(decision.status.code, Code::kUnschedulable);
  EXPECT_EQ(fit_error_text(decision.diagnosis, ""), "0/3 nodes are available: 1 second, 2 first.");
  EXPECT_EQ(decision.diagnosis.status(0).code, Code::kUnschedulable);
  EXPECT_EQ(decision.diagnosis.status(2).code, Code::kUnresolvable);
  EXPECT_EQ(decision.diagnosis.unschedulable.size(), 2);
}

TEST(Decide, APodRefusedAsAWholeIsNotLookedAtFurther) {
  Lab lab(2, {{"F", {.points = kFilters, .prepare = [](Cycle&) {
                       return PreFilterResult{Status::unschedulable("not now")};
                     }}}});
  const Decision decision = lab.decide();
  EXPECT_EQ(decision.status.code, Code::kUnschedulable);
  EXPECT_EQ(fit_error_text(decision.diagnosis, ""), "0/2 nodes are available: not now.");
  EXPECT_EQ(decision.diagnosis.status(1).code, Code::kUnschedulable);
  EXPECT_FALSE(decision.diagnosis.explicit_verdict(1));
}

// --- Where searches begin and end. ---

TEST(NodesToFind, IsKubeSchedulersNumber) {
  const std::pair<std::uint32_t, std::uint32_t> adaptive[] = {
      {99, 99},    {100, 100},  {200, 100},  {250, 120},  {1000, 420},
      {2000, 680}, {5000, 500}, {5625, 281}, {6000, 300}, {10000, 500}};
  for (const auto& [nodes, found] : adaptive) EXPECT_EQ(nodes_to_find(nodes, 0), found) << nodes;
  EXPECT_EQ(nodes_to_find(5000, 100), 5000u);
  EXPECT_EQ(nodes_to_find(5000, 10), 500u);
  EXPECT_EQ(nodes_to_find(500, 1), 100u);
}

TEST(Search, OfAllNodesAlwaysBeginsAtTheSamePlace) {
  Lab lab(3, {{"F", refusing({"n1"})}, {"S", scoring({})}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lab.decide().node, "n0");
    EXPECT_EQ(lab.start.next, 0u);
  }
}

TEST(Search, WithoutScoresEndsAtTheSecondNodeThatFits) {
  // n1 is refused, n2 is the one too many and is not counted, n0 is taken.
  Lab lab(5, {{"F", refusing({"n1", "n3"})}});
  EXPECT_EQ(lab.decide().node, "n0");
  EXPECT_EQ(lab.start.next, 2u);
  EXPECT_EQ(lab.decide().node, "n2");
  EXPECT_EQ(lab.start.next, 4u);
  EXPECT_EQ(lab.decide().node, "n4");
  EXPECT_EQ(lab.start.next, 0u);
}

TEST(Search, OfAShareOfTheNodesGoesOnWhereItEnded) {
  Lab lab(300, {{"F", refusing({"n0", "n100", "n150"})}, {"S", scoring({})}},
          {.percentage_of_nodes_to_score = 50});
  Decision decision = lab.decide();
  EXPECT_EQ(decision.feasible.size(), 150u);
  EXPECT_EQ(decision.evaluated, 153u);  // n150 comes before the one too many
  EXPECT_EQ(lab.start.next, 153u);
  decision = lab.decide();
  EXPECT_EQ(lab.name(decision.feasible.front()), "n153");
  EXPECT_EQ(lab.name(decision.feasible.back()), "n3");
  EXPECT_EQ(decision.evaluated, 151u);
  EXPECT_EQ(lab.start.next, 4u);
}

TEST(Search, LooksOnlyAtNodesThatPreFilterNamed) {
  Fake naming{.points = kFilters, .prepare = [](Cycle&) {
                return PreFilterResult{{}, std::vector<std::string>{"n4", "n2", "gone"}};
              }};
  Lab lab(6, {{"N", naming}, {"F", refusing({"n2"})}, {"S", scoring({})}});
  const Decision decision = lab.decide();
  EXPECT_EQ(decision.node, "n4");
  EXPECT_EQ(decision.evaluated, 2u);
  EXPECT_EQ(lab.start.next, 2u);  // two of six were looked at
  // The next begins among the named at place 2 mod 2.
  EXPECT_EQ(lab.decide().evaluated, 2u);
  EXPECT_EQ(lab.start.next, 4u);
}

TEST(Search, NodesThatWereNotNamedHaveNoVerdictOfTheirOwn) {
  Fake naming{.points = kFilters, .prepare = [](Cycle&) {
                return PreFilterResult{{}, std::vector<std::string>{"n1"}};
              }};
  Lab lab(3, {{"N", naming}, {"F", refusing({"n1"})}, {"S", scoring({})}});
  const Decision decision = lab.decide();
  EXPECT_EQ(fit_error_text(decision.diagnosis, ""),
            "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [N].");
  EXPECT_EQ(decision.diagnosis.unschedulable.size(), 2);  // N too
}

TEST(Search, AnErrorEndsTheAttemptWhereItIsMet) {
  Lab lab(5, {{"F", refusing({"n0"})}, {"E", refusing({"n2"}, "?broken")}, {"S", scoring({})}});
  const Decision decision = lab.decide();
  EXPECT_EQ(decision.status.code, Code::kError);
  EXPECT_EQ(decision.status.message(), "running \"E\" filter plugin: broken");
  EXPECT_EQ(lab.start.next, 2u);  // n0 and n1 were looked at
}

TEST(Search, AnErrorOnANodeThatItDoesNotComeToIsNone) {
  Lab lab(5, {{"E", refusing({"n4"}, "?broken")}});
  EXPECT_EQ(lab.decide().node, "n0");
  EXPECT_EQ(lab.start.next, 1u);
}

// --- Nominations. ---

PodPtr promised(const std::string& name, const std::string& node, int priority) {
  return test::pod(name)
      .spec(fmt::format("{{priority: {}}}", priority))
      .status(fmt::format("{{nominatedNodeName: {}}}", node))
      .compile();
}
Fake one_pod_a_node() {
  return {.points = kFilters, .reject = [](const Rows& rows, std::uint32_t row) {
            int pods = 0;
            rows.for_each_pod(row, [&](const Pod&) { ++pods; });
            return pods > 0 ? "taken" : "";
          }};
}

TEST(Nominated, APromisedNodeIsTakenBeforeOthersAreLookedAt) {
  Lab lab(3, {{"F", one_pod_a_node()}, {"S", scoring({{"n2", 100}})}});
  const Decision decision = lab.decide(promised("me", "n1", 0));
  EXPECT_EQ(decision.node, "n1");
  EXPECT_TRUE(decision.by_nomination);
  EXPECT_EQ(decision.evaluated, 1u);
  EXPECT_EQ(lab.start.next, 0u);
}

TEST(Nominated, APromiseThatDoesNotHoldIsForgotten) {
  Lab lab(3, {{"F", refusing({"n1"})}, {"S", scoring({{"n2", 100}})}});
  const Decision decision = lab.decide(promised("me", "n1", 0));
  EXPECT_EQ(decision.node, "n2");
  EXPECT_FALSE(decision.by_nomination);
  EXPECT_EQ(decision.evaluated, 3u);
  EXPECT_EQ(lab.decide(promised("me", "gone", 0)).node, "n2");
}

TEST(Nominated, APromisedNodeThatPreFilterLeavesOutStillCounts) {
  Fake naming{.points = kFilters, .prepare = [](Cycle&) {
                return PreFilterResult{{}, std::vector<std::string>{"n2"}};
              }};
  Lab lab(4, {{"N", naming}, {"F", refusing({"n1", "n2"})}});
  const Decision decision = lab.decide(promised("me", "n1", 0));
  EXPECT_EQ(decision.evaluated, 2u);
  EXPECT_EQ(lab.start.next, 2u);
  EXPECT_EQ(fit_error_text(decision.diagnosis, ""),
            "0/4 nodes are available: 2 no, 2 node(s) didn't satisfy plugin(s) [N].");
}

TEST(Nominated, RoomIsLeftForThoseThatWerePromisedIt) {
  Lab lab(3, {{"F", one_pod_a_node()}, {"S", scoring({{"n1", 100}, {"n2", 50}})}});
  lab.nominated.pods = {promised("boss", "n1", 5)};
  EXPECT_EQ(lab.decide().node, "n2");
  lab.nominated.pods = {promised("small", "n1", -1)};
  EXPECT_EQ(lab.decide().node, "n1");
}

TEST(Nominated, TheReasonIsThatOfThePassThatDecides) {
  // Without the nominated pod n0 would be refused by G; beside it, by F, which comes first.
  Lab lab(1, {{"F", one_pod_a_node()}, {"G", refusing({"n0"}, "other")}});
  EXPECT_EQ(fit_error_text(lab.decide().diagnosis, ""), "0/1 nodes are available: 1 other.");
  lab.nominated.pods = {promised("boss", "n0", 5)};
  EXPECT_EQ(fit_error_text(lab.decide().diagnosis, ""), "0/1 nodes are available: 1 taken.");
}

TEST(Nominated, MustNotBeNeededToFit) {
  Fake company{.points = kFilters, .reject = [](const Rows& rows, std::uint32_t row) {
                 int pods = 0;
                 rows.for_each_pod(row, [&](const Pod&) { ++pods; });
                 return pods == 0 ? "lonely" : "";
               }};
  Lab lab(1, {{"F", company}});
  lab.nominated.pods = {promised("boss", "n0", 5)};
  EXPECT_EQ(lab.decide().status.code, Code::kUnschedulable);
}

// --- Extenders, between the steps. ---

TEST(Extenders, AddTheirPointsAndBreakTies) {
  Lab lab(3, {{"S", scoring({{"n1", 10}})}}, {.extenders_prioritize = true});
  Decision decision = lab.decider->begin(test::pod("web").compile());
  lab.decider->search(decision);
  lab.decider->choose(decision, {}, {.points = {10, 0, 20}, .chance = {1, 2, 3}});
  EXPECT_EQ(decision.node, "n2");
  lab.decider->choose(decision, {}, {.points = {10, 0, 10}, .chance = {1, 9, 3}});
  EXPECT_EQ(decision.node, "n1");
}

}  // namespace
}  // namespace berth::scheduler
