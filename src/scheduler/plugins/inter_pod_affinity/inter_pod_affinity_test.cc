// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/domain_lab.h"

namespace berth::scheduler {

std::unique_ptr<Plugin> make_inter_pod_affinity(const PluginContext&);

namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* kAffinity = "!node(s) didn't match pod affinity rules";
constexpr const char* kAnti = "node(s) didn't match pod anti-affinity rules";
constexpr const char* kExisting = "node(s) didn't satisfy existing pods anti-affinity rules";
constexpr const char* kHost = "kubernetes.io/hostname";

struct Lab : DomainLab {
  explicit Lab(PluginArgs args = {}) : DomainLab(make_inter_pod_affinity, std::move(args)) {}

  // a and b in zone 1, x in zone 2, o outside any zone.
  Lab& zones() {
    for (const char* name : {"a", "b"}) add(node(name).label("zone", "1"));
    add(node("x").label("zone", "2"));
    add(node("o"));
    return *this;
  }
  Lab& team(const std::string& ns, const std::string& value) {
    cluster.put_namespace(ns, std::make_shared<Labels>(std::vector<Labels::Pair>{{"team", value}}));
    return *this;
  }
};

PodBuilder web(std::string_view name) { return pod(name).label("app", "web"); }

// A pod with one term, given as YAML.
PodBuilder with_term(std::string_view name, std::string_view kind, std::string_view term) {
  return pod(name).spec(fmt::format(
      "affinity: {{{}: {{requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}}", kind, term));
}

TEST(InterPodAffinity, FollowsThePodsThatItsTermsSelect) {
  Lab lab;
  lab.zones().add(web("w").on("a"));
  EXPECT_THAT(
      lab.filter(pod("p").near("zone", "app", "web").compile()),
      ElementsAre(Pair("a", ""), Pair("b", ""), Pair("o", kAffinity), Pair("x", kAffinity)));
  EXPECT_THAT(
      lab.filter(pod("p").near(kHost, "app", "web").compile()),
      ElementsAre(Pair("a", ""), Pair("b", kAffinity), Pair("o", kAffinity), Pair("x", kAffinity)));
}

TEST(InterPodAffinity, OnePodMustMatchAllTermsAtOnce) {
  Lab lab;
  lab.zones().add(web("w").on("a")).add(pod("d").label("tier", "db").on("b"));
  const PodPtr both = pod("p").near("zone", "app", "web").near("zone", "tier", "db").compile();
  EXPECT_EQ(lab.filter(both).at("a"), kAffinity);
  lab.add(web("wd").label("tier", "db").on("x"));
  EXPECT_EQ(lab.filter(both).at("a"), kAffinity);
  EXPECT_EQ(lab.filter(both).at("x"), "");
}

TEST(InterPodAffinity, TheFirstOfASeriesMayStartWhereItsKeysAre) {
  Lab lab;
  lab.zones();
  EXPECT_THAT(lab.filter(web("p").near("zone", "app", "web").compile()),
              ElementsAre(Pair("a", ""), Pair("b", ""), Pair("o", kAffinity), Pair("x", "")));
  EXPECT_EQ(lab.filter(pod("p").near("zone", "app", "web").compile()).at("a"), kAffinity);
  EXPECT_NE(lab.shape_key(web("p").near("zone", "app", "web").compile()),
            lab.shape_key(pod("p").near("zone", "app", "web").compile()));
  // A match where there is no zone does not count; one in a zone ends it.
  lab.add(web("w").on("o"));
  EXPECT_EQ(lab.filter(web("p").near("zone", "app", "web").compile()).at("a"), "");
  lab.add(web("v").on("x"));
  EXPECT_EQ(lab.filter(web("p").near("zone", "app", "web").compile()).at("a"), kAffinity);
}

TEST(InterPodAffinity, KeepsAwayFromPodsThatItsTermsSelect) {
  Lab lab;
  lab.zones().add(web("w").on("a"));
  EXPECT_THAT(lab.filter(pod("p").apart("zone", "app", "web").compile()),
              ElementsAre(Pair("a", kAnti), Pair("b", kAnti), Pair("o", ""), Pair("x", "")));
}

TEST(InterPodAffinity, KeepsAwayFromPodsWhoseTermsSelectIt) {
  Lab lab;
  lab.zones().add(pod("w").apart("zone", "app", "web").on("a"));
  EXPECT_THAT(
      lab.filter(web("p").compile()),
      ElementsAre(Pair("a", kExisting), Pair("b", kExisting), Pair("o", ""), Pair("x", "")));
  EXPECT_TRUE(lab.attempt(pod("p").compile())->prepared.skipped());
  lab.cluster.remove_pod("w");
  EXPECT_TRUE(lab.attempt(web("p").compile())->prepared.skipped());
}

TEST(InterPodAffinity, ReasonsComeInAFixedOrder) {
  Lab lab;
  lab.zones().add(web("w").apart("zone", "app", "web").on("a"));
  EXPECT_EQ(lab.filter(web("p").apart("zone", "app", "web").compile()).at("a"), kAnti);
  EXPECT_EQ(
      lab.filter(web("p").apart("zone", "app", "web").near("zone", "app", "db").compile()).at("a"),
      kAffinity);
}

TEST(InterPodAffinity, NamespacesAreListedSelectedOrItsOwn) {
  const struct {
    const char* name;
    const char* term;  // besides selector and key
    bool matches;      // a pod in namespace red, whose team is red
  } rows[] = {
      {"its own", "", false},
      {"listed", ", namespaces: [red]", true},
      {"another one listed", ", namespaces: [blue]", false},
      {"selected", ", namespaceSelector: {matchLabels: {team: red}}", true},
      {"another one selected", ", namespaceSelector: {matchLabels: {team: blue}}", false},
      {"every one", ", namespaceSelector: {}", true},
      {"listed besides the selected",
       ", namespaces: [red], namespaceSelector: {matchLabels: {team: blue}}", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string term = fmt::format(
        "{{topologyKey: zone, labelSelector: {{matchLabels: {{app: web}}}}{}}}", row.term);
    Lab own, theirs;
    own.zones().team("red", "red").add(web("w").ns("red").on("a"));
    EXPECT_EQ(own.filter(with_term("p", "podAntiAffinity", term).compile()).at("a"),
              row.matches ? kAnti : "");
    theirs.zones().team("red", "red").add(with_term("w", "podAntiAffinity", term).on("a"));
    const auto attempt = theirs.attempt(web("p").ns("red").compile());
    EXPECT_EQ(attempt->prepared.skipped(), !row.matches);
    EXPECT_EQ(theirs.filter(*attempt).at("a"), row.matches ? kExisting : "");
  }
}

TEST(InterPodAffinity, ASelectorThatHoldsWithoutLabelsSelectsAllNamespacesOnlyWhenIncoming) {
  const std::string term =
      "{topologyKey: zone, labelSelector: {matchLabels: {app: web}}, namespaceSelector: "
      "{matchExpressions: [{key: team, operator: NotIn, values: [red]}]}}";
  Lab own, theirs;
  own.zones().team("red", "red").add(web("w").ns("red").on("a"));
  EXPECT_EQ(own.filter(with_term("p", "podAntiAffinity", term).compile()).at("a"), kAnti);
  theirs.zones().team("red", "red").add(with_term("w", "podAntiAffinity", term).on("a"));
  EXPECT_TRUE(theirs.attempt(web("p").ns("red").compile())->prepared.skipped());
  EXPECT_FALSE(theirs.attempt(web("p").ns("unknown").compile())->prepared.skipped());
}

TEST(InterPodAffinity, ANamespaceThatIsRelabelledChangesWhoIsMeant) {
  const std::string term =
      "{topologyKey: zone, labelSelector: {matchLabels: {app: web}}, namespaceSelector: "
      "{matchLabels: {team: red}}}";
  Lab lab;
  lab.zones().team("shop", "blue").add(web("w").ns("shop").on("a"));
  const PodPtr apart = with_term("p", "podAntiAffinity", term).compile();
  EXPECT_EQ(lab.filter(apart).at("a"), "");
  lab.team("shop", "red");
  EXPECT_EQ(lab.filter(apart).at("a"), kAnti);
}

TEST(InterPodAffinity, UnreadableTermsRefuseThePod) {
  Lab lab;
  lab.zones();
  const Status status =
      lab.attempt(with_term("p", "podAffinity",
                            "{topologyKey: zone, labelSelector: {matchExpressions: [{key: a, "
                            "operator: Near}]}}")
                      .compile())
          ->prepared;
  EXPECT_EQ(status.code, Code::kUnresolvable);
  EXPECT_THAT(status.message(), ::testing::StartsWith("parsing pod: "));
}

TEST(InterPodAffinity, WhatIfsCountPodsThatComeAndGo) {
  Lab lab;
  lab.zones().add(web("w").on("a")).add(pod("h").apart("zone", "app", "web").on("x"));
  const PodPtr w = lab.cluster.pod("w"), h = lab.cluster.pod("h");
  const PodPtr hostile = pod("n").apart("rack", "app", "web").compile();  // a key nobody uses yet

  const auto apart = lab.attempt(web("p").apart("zone", "app", "web").compile());
  EXPECT_EQ(lab.filter_if(*apart, "a", {{w, -1}}), "");
  EXPECT_EQ(lab.filter_if(*apart, "a", {{w, -1}, {w, +1}}), kAnti);
  EXPECT_EQ(lab.filter_if(*apart, "b", {}), kAnti);
  EXPECT_EQ(lab.filter_if(*apart, "x", {{h, -1}}), "");
  EXPECT_EQ(lab.filter_if(*apart, "x", {}), kExisting);
  EXPECT_EQ(lab.filter_if(*apart, "o", {{h, +1}}), "");
  lab.add(node("o").label("rack", "r"));
  EXPECT_EQ(lab.filter_if(*apart, "o", {{hostile, +1}}), kExisting);
  EXPECT_EQ(lab.filter_if(*apart, "o", {{hostile, +1}, {hostile, -1}}), "");

  const auto near = lab.attempt(pod("p").near("zone", "app", "web").compile());
  EXPECT_EQ(lab.filter_if(*near, "a", {{w, -1}}), kAffinity);
  EXPECT_EQ(lab.filter_if(*near, "x", {{web("v").compile(), +1}}), "");
  // The only match gone, a pod that matches itself is the first again.
  const auto itself = lab.attempt(web("p").near("zone", "app", "web").compile());
  EXPECT_EQ(lab.filter_if(*itself, "a", {{w, -1}}), "");
}

TEST(InterPodAffinity, ScoresOwnPreferencesAndThoseOfOthers) {
  Lab lab;
  lab.zones().add(web("w").on("a")).add(web("v").on("a")).add(pod("d").label("app", "db").on("x"));
  EXPECT_EQ(lab.score(pod("p").near("zone", "app", "web", 5).compile()),
            (Scores{{"a", 100}, {"b", 100}, {"o", 0}, {"x", 0}}));
  // a, b: 10 - 0; x: 0 - 3; o: 0.
  const PodPtr both =
      pod("p").near("zone", "app", "web", 5).apart("zone", "app", "db", 3).compile();
  EXPECT_EQ(lab.score(both), (Scores{{"a", 100}, {"b", 100}, {"o", 23}, {"x", 0}}));
  EXPECT_EQ(lab.score(both, {"o", "x"}), (Scores{{"o", 100}, {"x", 0}}));
  EXPECT_EQ(lab.score(pod("p").near("zone", "app", "none", 5).compile()), std::nullopt);

  lab.add(pod("l").near("zone", "app", "web", 4).on("x"));
  EXPECT_EQ(lab.score(web("p").compile()), (Scores{{"a", 0}, {"b", 0}, {"o", 0}, {"x", 100}}));
  lab.add(pod("m").apart(kHost, "app", "web", 8).on("x"));
  EXPECT_EQ(lab.score(web("p").compile()), (Scores{{"a", 100}, {"b", 100}, {"o", 100}, {"x", 0}}));
}

TEST(InterPodAffinity, RequiredTermsOfOthersScoreWithTheWeightForHardOnes) {
  const PodBuilder holder = pod("h").near("zone", "app", "web").on("a");
  for (const std::int32_t weight : {0, 1, 50}) {
    Lab lab(InterPodAffinityArgs{weight, false});
    lab.zones().add(holder);
    const auto scored = lab.score(*lab.attempt(web("p").compile()));
    ASSERT_EQ(scored.has_value(), weight > 0);
    if (scored) {
      EXPECT_EQ(scored->raw, (Scores{{"a", weight}, {"b", weight}, {"o", 0}, {"x", 0}}));
    }
  }
}

TEST(InterPodAffinity, MayIgnoreWhatOthersPreferUnlessItPrefersSomethingItself) {
  Lab lab(InterPodAffinityArgs{1, true});
  lab.zones().add(pod("h").near("zone", "app", "web", 7).on("a"));
  EXPECT_EQ(lab.score(web("p").compile()), std::nullopt);
  EXPECT_EQ(lab.score(web("p").near("zone", "app", "none", 1).compile()),
            (Scores{{"a", 100}, {"b", 100}, {"o", 0}, {"x", 0}}));
}

TEST(InterPodAffinity, ScoresThatCancelOutAreZeroNotSkipped) {
  Lab lab;
  lab.zones().add(web("w").on("a"));
  EXPECT_EQ(
      lab.score(pod("p").near("zone", "app", "web", 5).apart("zone", "app", "web", 5).compile()),
      (Scores{{"a", 0}, {"b", 0}, {"o", 0}, {"x", 0}}));
}

TEST(InterPodAffinity, ChangesOfPodsThatMakeItWorthAnotherAttempt) {
  using namespace action;
  const PodPtr near = pod("p").near("zone", "app", "web").near("zone", "tier", "db").compile();
  const PodPtr apart = web("p").apart("zone", "app", "web").compile();
  const auto on_a = [](PodBuilder made) { return made.on("a").compile(); };
  const PodPtr neither = on_a(pod("o")), one = on_a(web("o")),
               both = on_a(web("o").label("tier", "db")),
               hostile = on_a(pod("o").apart("zone", "app", "web")),
               hostile_to_db = on_a(pod("o").apart("zone", "app", "db"));
  const struct {
    const char* name;
    PodPtr waiting;
    EventAction action;
    PodPtr before, after;
    Hint hint;
  } rows[] = {
      {"a pod with all that is wanted", near, kAdd, nullptr, both, Hint::kQueue},
      {"a pod with half of it", near, kAdd, nullptr, one, Hint::kSkip},
      {"one without a node", near, kAdd, nullptr, web("o").label("tier", "db").compile(),
       Hint::kSkip},
      {"one that is promised a node", near, kAdd, nullptr,
       web("o").label("tier", "db").nominated("a").compile(), Hint::kQueue},
      {"a pod begins to match", near, kUpdatePodLabel, one, both, Hint::kQueue},
      {"a pod goes on matching", near, kUpdatePodLabel, both, both, Hint::kSkip},
      {"a pod ceases to match what is wanted", near, kUpdatePodLabel, both, one, Hint::kSkip},
      {"a pod ceases to match what is not wanted", apart, kUpdatePodLabel, one, neither,
       Hint::kQueue},
      {"a pod begins to match what is not wanted", apart, kUpdatePodLabel, neither, one,
       Hint::kSkip},
      {"the pod itself", apart, kUpdatePodLabel, pod("p").compile(), web("p").compile(),
       Hint::kQueue},
      {"what is not wanted goes", apart, kDelete, one, nullptr, Hint::kQueue},
      {"who does not want it goes", apart, kDelete, hostile, nullptr, Hint::kQueue},
      {"who does not want others goes", apart, kDelete, hostile_to_db, nullptr, Hint::kSkip},
      {"what is wanted goes", near, kDelete, both, nullptr, Hint::kSkip},
      {"what is not wanted comes", apart, kAdd, nullptr, one, Hint::kSkip},
  };
  Lab lab;
  for (const auto& row : rows)
    EXPECT_EQ(lab.hint(row.waiting, {.event = {EventResource::kAssignedPod, row.action},
                                     .pod_before = row.before,
                                     .pod_after = row.after}),
              row.hint)
        << row.name;
}

TEST(InterPodAffinity, HintsDoNotLookUpNamespaces) {
  Lab lab;
  lab.team("default", "red");
  const PodPtr waiting = with_term("p", "podAffinity",
                                   "{topologyKey: zone, labelSelector: {matchLabels: {app: web}}, "
                                   "namespaceSelector: {matchLabels: {team: red}}}")
                             .compile();
  EXPECT_EQ(lab.hint(waiting, {.event = {EventResource::kAssignedPod, action::kAdd},
                               .pod_after = web("o").on("a").compile()}),
            Hint::kSkip);
}

TEST(InterPodAffinity, ChangesOfNodesThatMakeItWorthAnotherAttempt) {
  using namespace action;
  const PodPtr near = pod("p").near("zone", "app", "web").compile();
  const PodPtr apart = pod("p").apart("zone", "app", "web").compile();
  const NodePtr none = node("a"), in_1 = node("a").label("zone", "1"),
                in_2 = node("a").label("zone", "2"),
                extra = node("a").label("zone", "1").label("x", "");
  const struct {
    const char* name;
    PodPtr waiting;
    NodePtr before, after;
    Hint hint;
  } rows[] = {
      {"near: a node with the key", near, nullptr, in_1, Hint::kQueue},
      {"near: one without", near, nullptr, none, Hint::kSkip},
      {"near: it gets the key", near, none, in_1, Hint::kQueue},
      {"near: it loses the key", near, in_1, none, Hint::kSkip},
      {"near: it moves", near, in_1, in_2, Hint::kQueue},
      {"near: another label", near, in_1, extra, Hint::kSkip},
      {"apart: a node with the key", apart, nullptr, in_1, Hint::kQueue},
      {"apart: one without", apart, nullptr, none, Hint::kQueue},
      {"apart: it gets the key", apart, none, in_1, Hint::kSkip},
      {"apart: it loses the key", apart, in_1, none, Hint::kQueue},
      {"apart: it moves", apart, in_1, in_2, Hint::kQueue},
      {"apart: another label", apart, in_1, extra, Hint::kSkip},
  };
  Lab lab;
  for (const auto& row : rows)
    EXPECT_EQ(lab.hint(row.waiting,
                       {.event = {EventResource::kNode, row.before ? kUpdateNodeLabel : kAdd},
                        .node_before = row.before,
                        .node_after = row.after}),
              row.hint)
        << row.name;
}

}  // namespace
}  // namespace berth::scheduler
