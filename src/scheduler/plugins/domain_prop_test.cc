// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity and PodTopologySpread against the slow way of working them out, on small random
// clusters that change: whatever the seed, verdicts, what-ifs and scores are the same.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/plugins/domain_lab.h"
#include "scheduler/plugins/domain_model.h"
#include "scheduler/plugins/pod_topology_spread/go_log.h"

namespace berth::scheduler {

std::unique_ptr<Plugin> make_inter_pod_affinity(const PluginContext&);
std::unique_ptr<Plugin> make_pod_topology_spread(const PluginContext&);

namespace {

using namespace test;

constexpr const char* kKeys[] = {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"};
constexpr const char* kSpaces[] = {"default", "red", "blue", "unknown"};

// Writes random manifests.
class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool chance(double p) { return random_.chance(p); }
  template <std::size_t N>
  std::string one_of(const char* const (&list)[N]) {
    return list[below(N)];
  }

  NodePtr node(const std::string& name) {
    NodeBuilder made = test::node(name);
    if (chance(0.15))
      made.metadata(R"({"labels":{"kubernetes.io/hostname":null}})");
    else if (chance(0.1))
      made.label("kubernetes.io/hostname", "shared");
    if (chance(0.85)) made.zone(one_of({"a", "b", "c", ""}));
    if (chance(0.7)) made.label("rack", chance(0.3) ? name : one_of({"1", "2", ""}));
    if (chance(0.3)) made.label("disk", "ssd");
    if (chance(0.2)) made.taint("dedicated", one_of({"x", "y"}));
    if (chance(0.1)) made.taint("soft", "", "PreferNoSchedule");
    return made.compile();
  }

  PodPtr bound(const std::string& name, const std::string& node) {
    PodBuilder made = labelled(name);
    made.on(node);
    if (chance(0.2)) made.deleting();
    if (chance(0.5)) made.spec(affinity(2));
    return made.compile();
  }
  PodPtr pending(const std::string& name, bool spreads) {
    PodBuilder made = labelled(name);
    if (chance(0.3)) made.toleration("dedicated", chance(0.5) ? "x" : "");
    if (chance(0.3)) made.node_selector("disk", "ssd");
    if (chance(0.2)) made.node_affinity("topology.kubernetes.io/zone", {"a", "b"});
    made.spec(affinity(3));
    if (spreads) {
      std::string all;
      for (std::uint64_t n = 1 + below(4); n > 0; --n)
        all += (all.empty() ? "" : ",") + constraint();
      made.spec("{\"topologySpreadConstraints\":[" + all + "]}");
    }
    return made.compile();
  }
  std::map<std::string, std::string> labels() {
    std::map<std::string, std::string> all;
    if (chance(0.8)) all["app"] = one_of({"a", "b"});
    if (chance(0.5)) all["tier"] = one_of({"x", "y"});
    return all;
  }

 private:
  template <class T>
  std::string one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }
  PodBuilder labelled(const std::string& name) {
    PodBuilder made = test::pod(name);
    made.ns(chance(0.5) ? "default" : one_of(kSpaces));
    for (const auto& [key, value] : labels()) made.label(key, value);
    return made;
  }
  std::string selector() {
    switch (below(8)) {
      case 0:
        return "null";
      case 1:
        return "{}";
      case 2:
        return R"({"matchExpressions":[{"key":"app","operator":"NotIn","values":["a"]}]})";
      case 3:
        return R"({"matchExpressions":[{"key":"tier","operator":"Exists"}]})";
      case 4:
        return R"({"matchLabels":{"app":"a","tier":"x"}})";
      default:
        return R"({"matchLabels":{"app":")" + one_of({"a", "b"}) + "\"}}";
    }
  }
  std::string term() {
    std::string text = R"({"topologyKey":")" + one_of(kKeys) + "\"";
    text += R"(,"labelSelector":)" + selector();
    if (chance(0.2)) text += R"(,"namespaces":[")" + one_of(kSpaces) + "\"]";
    if (chance(0.3))
      text +=
          R"(,"namespaceSelector":)" +
          one_of({"{}", R"({"matchLabels":{"team":"red"}})",
                  R"({"matchExpressions":[{"key":"team","operator":"NotIn","values":["red"]}]})",
                  R"({"matchExpressions":[{"key":"team","operator":"DoesNotExist"}]})"});
    return text + "}";
  }
  std::string terms(std::uint64_t most, bool weighted) {
    std::string all;
    for (std::uint64_t n = chance(0.5) ? 0 : below(most + 1); n > 0; --n) {
      if (!all.empty()) all += ',';
      all += weighted
                 ? fmt::format(R"({{"weight":{},"podAffinityTerm":{}}})", 1 + below(100), term())
                 : term();
    }
    return "[" + all + "]";
  }
  std::string affinity(std::uint64_t most) {
    const auto both = [&] {
      return fmt::format(
          R"({{"requiredDuringSchedulingIgnoredDuringExecution":{},"preferredDuringSchedulingIgnoredDuringExecution":{}}})",
          terms(chance(0.5) ? 1 : most, false), terms(most, true));
    };
    return fmt::format(R"({{"affinity":{{"podAffinity":{},"podAntiAffinity":{}}}}})", both(),
                       both());
  }
  std::string constraint() {
    const bool hard = chance(0.5);
    std::string text = fmt::format(
        R"({{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{})",
        1 + below(3), one_of(kKeys), hard ? "DoNotSchedule" : "ScheduleAnyway", selector());
    if (hard && chance(0.3)) text += fmt::format(R"(,"minDomains":{})", 1 + below(4));
    if (chance(0.3)) text += R"(,"nodeAffinityPolicy":"Ignore")";
    if (chance(0.3)) text += R"(,"nodeTaintsPolicy":"Honor")";
    if (chance(0.3)) text += R"(,"matchLabelKeys":["tier","absent"])";
    return text + "}";
  }

  Random random_;
};

// A cluster as the plugin and as the model see it.
struct World {
  World(std::uint64_t seed, PluginFactory make, PluginArgs args = {})
      : author(seed), lab(make, std::move(args)) {
    for (const char* name : {"default", "red", "blue"}) {
      std::vector<Labels::Pair> labels;
      if (std::string_view(name) == "red") labels = {{"team", "red"}};
      if (std::string_view(name) == "blue" && author.chance(0.5)) labels = {{"team", "blue"}};
      model.namespaces[name] = Labels(labels);
      lab.cluster.put_namespace(name, std::make_shared<Labels>(labels));
    }
    for (std::uint64_t n = 1 + author.below(8); n > 0; --n) put_node("n" + std::to_string(n));
    for (std::uint64_t n = author.below(25); n > 0; --n) add_pod();
  }
  void put_node(const std::string& name) {
    const NodePtr node = author.node(name);
    std::erase_if(model.nodes, [&](const NodePtr& other) { return other->name == name; });
    model.nodes.push_back(node);
    lab.cluster.put_node(node);
  }
  void add_pod() {
    const PodPtr pod = author.bound("p" + std::to_string(++pods),
                                    model.nodes[author.below(model.nodes.size())]->name);
    model.pods.push_back(pod);
    lab.cluster.add_pod(pod);
  }
  void step() {
    const std::uint64_t what = author.below(10);
    if (what < 4) return add_pod();
    if (what < 8 && !model.pods.empty()) {
      const std::size_t at = author.below(model.pods.size());
      lab.cluster.remove_pod(model.pods[at]->uid);
      model.pods.erase(model.pods.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    put_node(model.nodes[author.below(model.nodes.size())]->name);
  }
  // Pods put on and taken from a node, each allowed by what is there.
  std::vector<DomainLab::Move> moves(const Node& node) {
    std::vector<PodPtr> there, away;
    model.on(node, [&](const Pod& pod) { there.push_back(lab.cluster.pod(pod.uid)); });
    for (int n = 0; n < 2; ++n)
      away.push_back(author.bound("m" + std::to_string(++pods), node.name));
    std::vector<DomainLab::Move> all;
    for (std::uint64_t n = 1 + author.below(5); n > 0; --n) {
      const bool add = there.empty() || (!away.empty() && author.chance(0.5));
      std::vector<PodPtr>&from = add ? away : there, &to = add ? there : away;
      const std::size_t at = author.below(from.size());
      all.push_back({from[at], add ? 1 : -1});
      to.push_back(from[at]);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return all;
  }

  Author author;
  DomainLab lab;
  ModelCluster model;
  int pods = 0;
};

template <class Model>
void expect_same_verdicts(World& world, DomainLab::Attempt& attempt, const Model& model) {
  EXPECT_EQ(attempt.prepared.skipped(), model.skips());
  if (attempt.prepared.skipped()) return;
  ASSERT_TRUE(attempt.prepared.ok()) << attempt.prepared.message();
  const Verdicts verdicts = world.lab.filter(attempt);
  for (const NodePtr& node : world.model.nodes) {
    EXPECT_EQ(verdicts.at(node->name), model.verdict(*node)) << node->name;
    Model changed = model;
    const auto moves = world.moves(*node);
    for (const DomainLab::Move& move : moves) changed.move(*move.pod, *node, move.sign);
    EXPECT_EQ(world.lab.filter_if(attempt, node->name, moves), changed.verdict(*node))
        << "what if, " << node->name;
  }
}

std::uint64_t seeds() {
  const char* asked = std::getenv("BERTH_SEEDS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 60;
}

TEST(DomainProperties, AffinityIsWhatPodsAndTermsSay) {
  for (std::uint64_t seed = 1; seed <= seeds() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random chance(seed);
    const InterPodAffinityArgs args{static_cast<std::int32_t>(chance.below(3)), chance.chance(0.2)};
    World world(seed, make_inter_pod_affinity, args);
    for (int round = 0; round < 4; ++round) {
      const PodPtr pod = world.author.pending("pending", false);
      const auto attempt = world.lab.attempt(pod);
      const AffinityModel model(world.model, *pod, args);
      expect_same_verdicts(world, *attempt, model);
      const auto scores = world.lab.score(*attempt);
      const auto expected = model.scores();
      ASSERT_EQ(scores.has_value(), expected.has_value());
      if (scores) {
        EXPECT_EQ(scores->raw, *expected);
      }
      // What was counted for this pod goes on being counted.
      for (int step = 0; step < 5; ++step) world.step();
      const auto again = world.lab.attempt(pod);
      expect_same_verdicts(world, *again, AffinityModel(world.model, *pod, args));
      EXPECT_EQ(world.lab.cluster.recount(), "");
    }
  }
}

std::vector<NodePtr> some_of(Author& author, const std::vector<NodePtr>& nodes) {
  std::vector<NodePtr> some;
  for (const NodePtr& node : nodes)
    if (author.chance(0.7)) some.push_back(node);
  return some.empty() ? nodes : some;
}

void expect_same_scores(World& world, DomainLab::Attempt& attempt, const SpreadModel& model) {
  const std::vector<NodePtr> feasible = some_of(world.author, world.model.nodes);
  std::vector<std::string> names;
  for (const NodePtr& node : feasible) names.push_back(node->name);
  const auto scores = world.lab.score(attempt, &names);
  const auto expected = model.scores(
      feasible, [](std::size_t size) { return go_log(static_cast<double>(size) + 2); });
  ASSERT_EQ(scores.has_value(), expected.has_value());
  if (scores) {
    EXPECT_EQ(scores->normalized, *expected);
  }
}

TEST(DomainProperties, SpreadingIsWhatPodsAndConstraintsSay) {
  for (std::uint64_t seed = 1; seed <= seeds() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed, make_pod_topology_spread);
    for (int round = 0; round < 4; ++round) {
      const PodPtr pod = world.author.pending("pending", true);
      const auto attempt = world.lab.attempt(pod);
      const SpreadModel model(world.model, *pod);
      expect_same_verdicts(world, *attempt, model);
      expect_same_scores(world, *attempt, model);
      for (int step = 0; step < 5; ++step) world.step();
      const auto again = world.lab.attempt(pod);
      expect_same_verdicts(world, *again, SpreadModel(world.model, *pod));
      EXPECT_EQ(world.lab.cluster.recount(), "");
    }
  }
}

TEST(DomainProperties, SpreadingByDefaultIsWhatTheServiceSays) {
  for (std::uint64_t seed = 1; seed <= seeds() && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const bool system = seed % 2 == 0;
    std::vector<SpreadConstraint> defaults(2);
    defaults[0].topology_key = "kubernetes.io/hostname";
    defaults[0].max_skew = 3;
    defaults[1].topology_key = "topology.kubernetes.io/zone";
    defaults[1].max_skew = 5;
    if (!system) {
      defaults[0].max_skew = defaults[1].max_skew = 1;
      defaults[1].hard = seed % 3 != 0;
    }
    defaults[0].hard = !system && seed % 5 == 0;
    if (system) defaults[1].hard = false;
    World world(seed, make_pod_topology_spread,
                PodTopologySpreadArgs{system, system ? std::vector<SpreadConstraint>() : defaults});
    for (const char* ns : kSpaces)
      world.lab.cluster.owners().put(*kube::Object::parse(
          kube::kService,
          fmt::format(
              R"({{"metadata":{{"name":"s","namespace":"{}"}},"spec":{{"selector":{{"app":"a"}}}}}})",
              ns)));
    const kube::LabelSelector selector = *kube::LabelSelector::parse("app=a");
    for (SpreadConstraint& c : defaults) c.selector = selector;
    for (int round = 0; round < 4; ++round) {
      const PodPtr pod = world.author.pending("pending", false);
      const std::vector<SpreadConstraint> none;
      const SpreadModel model(world.model, *pod,
                              matches(selector, *pod->labels) ? &defaults : &none, system);
      const auto attempt = world.lab.attempt(pod);
      expect_same_verdicts(world, *attempt, model);
      expect_same_scores(world, *attempt, model);
      for (int step = 0; step < 5; ++step) world.step();
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
