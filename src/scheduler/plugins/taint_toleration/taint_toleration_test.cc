// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char* kRefused = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";

TEST(TaintToleration, EveryHardTaintMustBeTolerated) {
  struct Row {
    const char* name;
    PodBuilder pod;
    NodeBuilder node;
    bool fits;
  };
  const Row rows[] = {
      {"no taints", pod("p"), node("n"), true},
      {"a taint, no toleration", pod("p"), node("n").taint("dedicated", "user1"), false},
      {"equal", pod("p").toleration("dedicated", "user1", "NoSchedule"),
       node("n").taint("dedicated", "user1"), true},
      {"another value", pod("p").toleration("dedicated", "user2", "NoSchedule"),
       node("n").taint("dedicated", "user1"), false},
      {"exists", pod("p").toleration("dedicated"), node("n").taint("dedicated", "user1"), true},
      {"another effect", pod("p").toleration("dedicated", "user1", "NoExecute"),
       node("n").taint("dedicated", "user1"), false},
      {"one of two", pod("p").toleration("a"), node("n").taint("a").taint("b"), false},
      {"both of two", pod("p").toleration("a").toleration("b"), node("n").taint("a").taint("b"),
       true},
      {"everything", pod("p").toleration(""), node("n").taint("a").taint("b", "", "NoExecute"),
       true},
      {"NoExecute", pod("p"), node("n").taint("a", "", "NoExecute"), false},
      {"a preference is no bar", pod("p"), node("n").taint("a", "", "PreferNoSchedule"), true},
  };
  for (const Row& row : rows) {
    PluginBench bench("TaintToleration");
    bench.with(row.node);
    EXPECT_EQ(bench.filter(row.pod), (Verdicts{{"n", row.fits ? "" : kRefused}})) << row.name;
  }
}

TEST(TaintToleration, FewerDislikedTaintsScoreMore) {
  PluginBench bench("TaintToleration");
  const auto soft = [](NodeBuilder n, std::initializer_list<const char*> keys) {
    for (const char* key : keys) n.taint(key, "v", "PreferNoSchedule");
    return n;
  };
  bench.with(soft(node("none"), {})).with(soft(node("one"), {"a"}));
  bench.with(soft(node("three"), {"a", "b", "c"}));
  bench.with(node("hard").taint("a", "v", "NoSchedule"));
  const PodPtr plain = pod("p");
  EXPECT_EQ(bench.raw(plain), (Points{{"none", 0}, {"one", 1}, {"three", 3}, {"hard", 0}}));
  EXPECT_EQ(bench.normalized(plain),
            (Points{{"none", 100}, {"one", 67}, {"three", 0}, {"hard", 100}}));
  const PodPtr tolerant = pod("t").toleration("a", "v", "PreferNoSchedule").toleration("b");
  EXPECT_EQ(bench.raw(tolerant), (Points{{"none", 0}, {"one", 0}, {"three", 1}, {"hard", 0}}));
  // A toleration of another effect does not count.
  EXPECT_EQ(bench.raw(pod("n").toleration("a", "v", "NoSchedule")), bench.raw(plain));
}

TEST(TaintToleration, WhereNothingIsDislikedAllScoreFull) {
  PluginBench bench("TaintToleration");
  bench.with(node("a")).with(node("b"));
  EXPECT_EQ(bench.normalized(pod("p")), (Points{{"a", 100}, {"b", 100}}));
}

TEST(TaintToleration, AnswersFollowTheNodesTaints) {
  PluginBench bench("TaintToleration");
  bench.with(node("n"));
  const PodPtr p = pod("p");
  EXPECT_EQ(bench.filter(p).at("n"), "");
  bench.with(node("n").taint("new"));
  EXPECT_EQ(bench.filter(p).at("n"), kRefused);
  bench.with(node("n").taint("new", "", "PreferNoSchedule"));
  EXPECT_EQ(bench.filter(p).at("n"), "");
  EXPECT_EQ(bench.raw(p).at("n"), 1);
}

TEST(TaintToleration, QueuesWhenANodeBecomesTolerable) {
  PluginBench bench("TaintToleration");
  const NodePtr clean = node("n"), tainted = node("n").taint("a"), other = node("n").taint("b");
  const PodPtr plain = pod("p"), tolerant = pod("p").toleration("a"), stranger = pod("s");
  struct Row {
    const char* name;
    PodPtr pod;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a clean node", plain, node_event(action::kAdd, nullptr, clean), Hint::kQueue},
      {"a tainted node", plain, node_event(action::kAdd, nullptr, tainted), Hint::kSkip},
      {"a node it tolerates", tolerant, node_event(action::kAdd, nullptr, tainted), Hint::kQueue},
      {"a taint goes", plain, node_event(action::kUpdateNodeTaint, tainted, clean), Hint::kQueue},
      {"a taint changes to a tolerated one", tolerant,
       node_event(action::kUpdateNodeTaint, other, tainted), Hint::kQueue},
      {"it was tolerable before", tolerant, node_event(action::kUpdateNodeTaint, tainted, clean),
       Hint::kSkip},
      {"own tolerations", plain, pod_event(action::kUpdatePodToleration, plain, tolerant),
       Hint::kQueue},
      {"another's tolerations", plain, pod_event(action::kUpdatePodToleration, stranger, stranger),
       Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(row.pod, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
