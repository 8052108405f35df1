// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char* kRefused =
    "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";
constexpr const char* kEnforced =
    "UnschedulableAndUnresolvable: node(s) didn't match scheduler-enforced node affinity";

PodBuilder asking(std::string_view terms) {
  return pod("p").spec(
      fmt::format("affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: "
                  "{{nodeSelectorTerms: [{}]}}}}}}",
                  terms));
}
std::string expression(std::string_view inside) {
  return fmt::format("{{matchExpressions: [{{{}}}]}}", inside);
}

TEST(NodeAffinity, RequiredTermsAreAlternativesAndTheirExpressionsAreNot) {
  struct Row {
    const char* name;
    PodBuilder pod;
    NodeBuilder node;
    bool fits;
  };
  const NodeBuilder labelled = node("n").label("foo", "bar").label("gpu", "3");
  const Row rows[] = {
      {"nothing asked, added affinity apart", pod("p").node_selector("foo", "bar"), labelled, true},
      {"selector with a missing key", pod("p").node_selector("baz", "x"), labelled, false},
      {"selector with another value", pod("p").node_selector("foo", "x"), labelled, false},
      {"In", asking(expression("key: foo, operator: In, values: [x, bar]")), labelled, true},
      {"NotIn with an absent key", asking(expression("key: absent, operator: NotIn, values: [x]")),
       labelled, true},
      {"Exists", asking(expression("key: foo, operator: Exists")), labelled, true},
      {"DoesNotExist", asking(expression("key: foo, operator: DoesNotExist")), labelled, false},
      {"Gt", asking(expression("key: gpu, operator: Gt, values: ['2']")), labelled, true},
      {"Lt", asking(expression("key: gpu, operator: Lt, values: ['2']")), labelled, false},
      {"Gt of no number", asking(expression("key: foo, operator: Gt, values: ['2']")), labelled,
       false},
      {"no terms", asking(""), labelled, false},
      {"an empty term", asking("{}"), labelled, false},
      {"an empty term beside one that matches",
       asking("{}, " + expression("key: foo, operator: Exists")), labelled, true},
      {"a term that cannot be read beside one that matches",
       asking(expression("key: foo, operator: Gt, values: [a, b]") + ", " +
              expression("key: foo, operator: Exists")),
       labelled, true},
      {"a term that cannot be read", asking(expression("key: foo, operator: Gt, values: [a, b]")),
       labelled, false},
      {"selector and affinity",
       asking(expression("key: gpu, operator: Exists")).node_selector("foo", "other"), labelled,
       false},
      {"a field that is the name",
       asking("{matchFields: [{key: metadata.name, operator: In, values: ['n']}]}"), labelled,
       true},
      {"a field that excludes the name",
       asking("{matchFields: [{key: metadata.name, operator: NotIn, values: ['n']}]}"), labelled,
       false},
  };
  for (const Row& row : rows) {
    PluginBench bench("NodeAffinity");
    bench.with(row.node);
    EXPECT_EQ(bench.filter(row.pod), (Verdicts{{"n", row.fits ? "" : kRefused}})) << row.name;
  }
}

TEST(NodeAffinity, SkipsPodsThatAskForNothing) {
  PluginBench bench("NodeAffinity");
  bench.with(node("n"));
  EXPECT_TRUE(bench.skips(pod("p")));
  EXPECT_TRUE(bench.skips(pod("p").preferred_node(1, "a", {"b"})));
  EXPECT_FALSE(bench.skips(pod("p").node_selector("a", "b")));
  EXPECT_FALSE(bench.skips(pod("p").spec("nodeSelector: {}")));
  EXPECT_FALSE(bench.skips(asking("")));
}

TEST(NodeAffinity, NamedNodesAreTheOnlyOnesLookedAt) {
  PluginBench bench("NodeAffinity");
  bench.with(node("a")).with(node("b")).with(node("c"));
  const auto named = [&](std::string_view terms) {
    const auto attempt = bench.attempt(asking(terms));
    return bench.profile().prepare(attempt->cycle);
  };
  const auto field = [](std::string_view values, std::string_view op = "In") {
    return fmt::format("{{key: metadata.name, operator: {}, values: [{}]}}", op, values);
  };
  using Names = std::optional<std::vector<std::string>>;
  EXPECT_EQ(named(fmt::format("{{matchFields: [{}]}}", field("b"))).named, Names({"b"}));
  EXPECT_EQ(
      named(fmt::format("{{matchFields: [{}]}}, {{matchFields: [{}]}}", field("b"), field("a")))
          .named,
      Names({"a", "b"}));
  EXPECT_EQ(named(fmt::format("{{matchFields: [{}]}}, {}", field("b"),
                              expression("key: foo, operator: Exists")))
                .named,
            std::nullopt)
      << "a term without names allows any";
  EXPECT_EQ(named(fmt::format("{{matchFields: [{}]}}", field("b", "NotIn"))).named, std::nullopt);
  const Profile::Prepared conflict =
      named(fmt::format("{{matchFields: [{}, {}]}}", field("a"), field("b")));
  EXPECT_EQ(conflict.status.code, Code::kUnresolvable);
  EXPECT_EQ(conflict.status.message(), "pod affinity terms conflict");
}

TEST(NodeAffinity, AddedAffinityHoldsForEveryPod) {
  PluginBench bench("NodeAffinity", NodeAffinityArgs{R"({
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference":
        {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}]})"});
  bench.with(node("in").label("pool", "x").label("ssd", "")).with(node("out"));
  EXPECT_FALSE(bench.skips(pod("p")));
  EXPECT_EQ(bench.filter(pod("p")), (Verdicts{{"in", ""}, {"out", kEnforced}}));
  EXPECT_EQ(bench.filter(pod("p").node_selector("a", "b")),
            (Verdicts{{"in", kRefused}, {"out", kEnforced}}));
  EXPECT_EQ(bench.raw(pod("p")), (Points{{"in", 3}, {"out", 0}}));
  EXPECT_EQ(bench.raw(pod("p").preferred_node(5, "pool", {"x"})), (Points{{"in", 8}, {"out", 0}}));
  EXPECT_EQ(bench.hint(pod("p"), node_event(action::kAdd, nullptr, node("out"))), Hint::kSkip);
}

TEST(NodeAffinity, PreferredTermsAddTheirWeights) {
  PluginBench bench("NodeAffinity");
  bench.with(node("none"))
      .with(node("one").label("a", "1"))
      .with(node("both").label("a", "1").label("b", "2"));
  EXPECT_TRUE(bench.raw(pod("p")).empty()) << "without preferences it adds nothing";
  const PodPtr p = pod("p").preferred_node(2, "a", {"1"}).preferred_node(5, "b", {"2", "3"});
  EXPECT_EQ(bench.raw(p), (Points{{"none", 0}, {"one", 2}, {"both", 7}}));
  EXPECT_EQ(bench.normalized(p), (Points{{"none", 0}, {"one", 28}, {"both", 100}}));
  bench.with(node("none").label("b", "3"));
  EXPECT_EQ(bench.raw(p).at("none"), 5) << "labels may change";
  const PodPtr unreadable = pod("u").spec(
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
      "preference: {matchExpressions: [{key: a, operator: Gt, values: [x, y]}]}}]}}");
  const auto attempt = bench.attempt(unreadable);
  const RowSet all(3, true);
  const Rows rows = bench.cluster().rows();
  EXPECT_EQ(bench.as<Score>().prepare_score(attempt->cycle, {rows, all, 3}).code, Code::kError);
}

TEST(NodeAffinity, QueuesWhenANodeComesToMatch) {
  PluginBench bench("NodeAffinity");
  const PodPtr p = pod("p").node_selector("a", "1");
  const NodePtr fits = node("n").label("a", "1"), not_yet = node("n").label("a", "2"),
                also = node("n").label("a", "1").label("b", "2");
  EXPECT_EQ(bench.hint(p, node_event(action::kAdd, nullptr, fits)), Hint::kQueue);
  EXPECT_EQ(bench.hint(p, node_event(action::kAdd, nullptr, not_yet)), Hint::kSkip);
  EXPECT_EQ(bench.hint(p, node_event(action::kUpdateNodeLabel, not_yet, fits)), Hint::kQueue);
  EXPECT_EQ(bench.hint(p, node_event(action::kUpdateNodeLabel, fits, also)), Hint::kSkip);
  EXPECT_EQ(bench.hint(p, node_event(action::kUpdateNodeLabel, fits, not_yet)), Hint::kSkip);
}

}  // namespace
}  // namespace berth::scheduler
