// SPDX-License-Identifier: Apache-2.0
// The search against a literal one: node by node, one worker, as kube-scheduler's loop is written.
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/cache/test_builders.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/framework/test_plugins.h"

namespace berth::scheduler {
namespace {

using test::Fake;
using test::FakeProfile;

enum class Verdict { kFits, kRefused, kFails };

// What one pod meets.
struct Problem {
  std::vector<Verdict> nodes;
  std::optional<std::set<std::uint32_t>> named;
  std::optional<std::uint32_t> promised;
};

struct Found {
  bool failed = false;
  std::vector<std::uint32_t> feasible;
  std::uint32_t evaluated = 0;
  std::set<std::uint32_t> refused;
};

Found literal(const Problem& problem, std::uint32_t& next, std::int32_t percentage, bool scoring) {
  Found found;
  const auto loop = [&](const std::vector<std::uint32_t>& nodes) {
    const auto n = static_cast<std::uint32_t>(nodes.size());
    std::uint32_t wanted = nodes_to_find(n, percentage);
    if (!scoring) wanted = 1;
    std::vector<std::uint32_t> feasible;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t node = nodes[(next + i) % n];
      if (problem.nodes[node] == Verdict::kFails) {
        found.failed = true;
        break;
      }
      if (problem.nodes[node] == Verdict::kRefused) {
        found.refused.insert(node);
        continue;
      }
      if (feasible.size() == wanted) break;
      feasible.push_back(node);
    }
    return feasible;
  };
  if (problem.promised) {
    found.feasible = loop({*problem.promised});
    found.failed = false;
    if (!found.feasible.empty()) {
      found.evaluated = 1;
      return found;
    }
  }
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i)
    if (!problem.named || problem.named->contains(i)) nodes.push_back(i);
  found.feasible = loop(nodes);
  found.evaluated = static_cast<std::uint32_t>(found.feasible.size() + found.refused.size());
  next = (next + found.evaluated) % static_cast<std::uint32_t>(problem.nodes.size());
  return found;
}

TEST(SearchProperty, FindsWhatKubeSchedulersLoopFinds) {
  const char* const asked = std::getenv("BERTH_SEEDS");
  const std::uint64_t seeds = asked == nullptr ? 30 : std::stoull(asked);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(1 + random.below(random.chance(0.5) ? 12 : 260));
    const std::int32_t percentage = std::array{0, 1, 45, 70, 100}[random.below(5)];
    const bool scoring = random.chance(0.8);
    Problem problem;
    Fake fake{.points = test::kFilters,
              .prepare =
                  [&](Cycle&) {
                    PreFilterResult result;
                    if (problem.named) {
                      result.nodes.emplace();
                      for (std::uint32_t i : *problem.named)
                        result.nodes->push_back(fmt::format("n{}", i));
                    }
                    return result;
                  },
              .reject = [&](const Rows& rows, std::uint32_t row) -> std::string {
                const std::string& name = rows.cluster->node(rows.node[row]).name;
                const Verdict verdict = problem.nodes[std::stoul(name.substr(1))];
                return verdict == Verdict::kFits ? "" : verdict == Verdict::kRefused ? "no" : "?x";
              }};
    if (scoring) fake.points |= test::kScores;
    FakeProfile profile({{"F", std::move(fake)}});
    ClusterState cluster;
    for (std::uint32_t i = 0; i < size; ++i)
      cluster.put_node(test::node(fmt::format("n{}", i)).compile());
    SearchStart start;
    std::uint32_t next = 0;
    Decider decider(*profile, cluster, profile.reasons, nullptr, start,
                    {.percentage_of_nodes_to_score = percentage});

    for (int step = 0; step < 20; ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      const double refusing = random.unit(), failing = random.chance(0.2) ? 0.05 : 0;
      problem = {};
      for (std::uint32_t i = 0; i < size; ++i)
        problem.nodes.push_back(random.chance(failing)    ? Verdict::kFails
                                : random.chance(refusing) ? Verdict::kRefused
                                                          : Verdict::kFits);
      if (random.chance(0.2)) {
        problem.named.emplace();
        for (std::uint64_t k = 1 + random.below(5); k > 0; --k)
          problem.named->insert(static_cast<std::uint32_t>(random.below(size)));
      }
      if (random.chance(0.2)) problem.promised = static_cast<std::uint32_t>(random.below(size));
      test::PodBuilder pod = test::pod("p");
      if (problem.promised)
        pod.status(fmt::format("{{nominatedNodeName: n{}}}", *problem.promised));

      const Found expected = literal(problem, next, percentage, scoring);
      const Decision decision = decider.decide(pod.compile(), {.reasons = random.chance(0.5)});
      ASSERT_EQ(start.next, next);
      ASSERT_EQ(decision.evaluated, expected.evaluated);
      ASSERT_EQ(decision.status.code == Code::kError, expected.failed);
      if (expected.failed) continue;
      ASSERT_EQ(decision.feasible, expected.feasible);
      ASSERT_EQ(decision.status.ok(), !expected.feasible.empty());
      if (!expected.feasible.empty()) continue;
      for (std::uint32_t row = 0; row < size; ++row)
        ASSERT_EQ(decision.diagnosis.explicit_verdict(row), expected.refused.contains(row)) << row;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
