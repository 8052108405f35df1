// SPDX-License-Identifier: Apache-2.0
#include "controllers/deployment/sets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "controllers/deployment/revisions.h"

namespace berth::controllers {
namespace {

Object deployment(int replicas, const std::string& surge, const std::string& unavailable) {
  return *Object::parse(
      kube::kDeployment,
      fmt::format(
          R"({{"metadata":{{"name":"web"}},"spec":{{"replicas":{},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxSurge":{},"maxUnavailable":{}}}}}}}}})",
          replicas, surge, unavailable));
}

TEST(Rollout, PercentagesRoundSoThatSomethingCanMove) {
  struct Row {
    int replicas;
    const char* surge;
    const char* unavailable;
    int most_surge, most_unavailable;
  };
  const Row rows[] = {
      {10, "\"25%\"", "\"25%\"", 3, 2},
      {1, "\"25%\"", "\"25%\"", 1, 0},
      {3, "0", "\"25%\"", 0, 1},
      {0, "\"25%\"", "\"25%\"", 0, 0},
      {4, "2", "0", 2, 0},
      {2, "0", "5", 0, 2},
  };
  for (const Row& row : rows) {
    const Rollout rollout(deployment(row.replicas, row.surge, row.unavailable));
    EXPECT_EQ(rollout.surge, row.most_surge) << row.replicas << row.surge;
    EXPECT_EQ(rollout.unavailable, row.most_unavailable) << row.replicas << row.unavailable;
  }
  EXPECT_FALSE(
      Rollout(*Object::parse(kube::kDeployment, R"({"spec":{"strategy":{"type":"Recreate"}}})"))
          .rolling);
}

// Sets by size and what their annotation says the Deployment's most was; the oldest first.
struct Lineup {
  std::vector<Object> objects;
  std::vector<Set> sets;
  Lineup(std::vector<std::pair<int, int>> sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      objects.push_back(*Object::parse(
          kube::kReplicaSet,
          fmt::format(
              R"({{"metadata":{{"name":"s{}","creationTimestamp":"2026-01-0{}T00:00:00Z","annotations":{{"{}":"{}"}}}},"spec":{{"replicas":{}}},"status":{{"availableReplicas":{}}}}})",
              i, i + 1, annotation::kMost, sizes[i].second, sizes[i].first, sizes[i].first)));
    for (const Object& object : objects) sets.push_back(read_set(object));
  }
  std::vector<Set*> all() {
    std::vector<Set*> out;
    for (Set& set : sets) out.push_back(&set);
    return out;
  }
  std::vector<std::int64_t> wanted() const {
    std::vector<std::int64_t> out;
    for (const Set& set : sets) out.push_back(set.wanted);
    return out;
  }
};

TEST(Proportions, AChangeIsSharedByTheSizesOfTheSets) {
  struct Row {
    const char* why;
    int replicas, surge;
    std::vector<std::pair<int, int>> sizes;
    std::vector<std::int64_t> wanted;
  };
  // The first rows are kube-controller-manager's own examples.
  const Row rows[] = {
      {"5 to 10 over 10, 5 and 1 of most 13... grows", 24, 3, {{5, 13}, {8, 13}}, {10, 17}},
      {"equal sets: the newer takes what is left", 12, 0, {{5, 10}, {5, 10}}, {6, 6}},
      {"an odd one goes to the newer", 11, 0, {{5, 10}, {5, 10}}, {5, 6}},
      {"an odd one is taken from the older", 9, 0, {{5, 10}, {5, 10}}, {4, 5}},
      {"down to nothing", 0, 2, {{5, 12}, {7, 12}}, {0, 0}},
      {"no change of the sum", 10, 0, {{4, 10}, {6, 10}}, {4, 6}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    Lineup lineup(row.sizes);
    scale_proportionally(Rollout(deployment(row.replicas, std::to_string(row.surge), "1")),
                         lineup.all(), 0);
    EXPECT_EQ(lineup.wanted(), row.wanted);
    for (const Set& set : lineup.sets) EXPECT_TRUE(set.forced);
  }
}

TEST(ProportionsProperty, NeverGoBeyondWhatIsAllowedNorBelowZero) {
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    const int replicas = static_cast<int>(random.below(30)),
              surge = static_cast<int>(random.below(5));
    std::vector<std::pair<int, int>> sizes;
    int sum = 0;
    for (std::size_t n = 2 + random.below(4); n > 0; --n) {
      sizes.emplace_back(1 + static_cast<int>(random.below(12)), 0);
      sum += sizes.back().first;
    }
    for (auto& [size, most] : sizes) most = sum;
    Lineup lineup(sizes);
    const Rollout rollout(deployment(replicas, std::to_string(surge), "1"));
    scale_proportionally(rollout, lineup.all(), sum);
    std::int64_t after = 0;
    for (const Set& set : lineup.sets) {
      EXPECT_GE(set.wanted, 0);
      after += set.wanted;
    }
    const std::int64_t allowed = replicas > 0 ? replicas + surge : 0;
    EXPECT_EQ(after, allowed) << "from " << sum;
  }
}

TEST(ShrinkOld, TakesWhatIsNotAvailableFirstAndKeepsTheLeast) {
  Lineup lineup({{4, 0}, {4, 0}, {5, 0}});
  lineup.sets[0].available = 4;
  lineup.sets[1].available = 1;
  lineup.sets[2].available = 0;
  const Rollout rollout(deployment(10, "3", "2"));
  Set& fresh = lineup.sets[2];
  // 13 pods, 8 must stay available, 5 new ones are not: nothing may go.
  EXPECT_FALSE(shrink_old(rollout, {&lineup.sets[0], &lineup.sets[1]}, fresh, 13));
  fresh.available = 4;
  // 13 - 8 - 1: four may go, the three that are not available, then one of those 9 - 8 too many.
  EXPECT_TRUE(shrink_old(rollout, {&lineup.sets[0], &lineup.sets[1]}, fresh, 13));
  EXPECT_EQ(lineup.wanted(), (std::vector<std::int64_t>{3, 1, 5}));
}

TEST(Revisions, ASetThatServesAgainRemembersItsOldNumbers) {
  const Object web = *Object::parse(
      kube::kDeployment,
      R"({"metadata":{"name":"web","annotations":{"team":"a","kubectl.kubernetes.io/last-applied-configuration":"x"}},"spec":{"replicas":3}})");
  const Rollout rollout(deployment(3, "1", "1"));
  const Annotations made = new_set_annotations(web, {}, false, 1, rollout);
  EXPECT_EQ(made, (Annotations{{"team", "a"},
                               {annotation::kRevision, "1"},
                               {annotation::kDesired, "3"},
                               {annotation::kMost, "4"}}));
  EXPECT_EQ(new_set_annotations(web, made, true, 1, rollout), made);
  const Annotations again = new_set_annotations(web, made, true, 3, rollout);
  EXPECT_EQ(again.at(annotation::kRevision), "3");
  EXPECT_EQ(again.at(annotation::kHistory), "1");
  EXPECT_EQ(new_set_annotations(web, again, true, 7, rollout).at(annotation::kHistory), "1,3");
  Annotations full = again;
  full[annotation::kHistory] = std::string(1999, '1');
  EXPECT_EQ(new_set_annotations(web, full, true, 7, rollout).at(annotation::kHistory), "3");
  EXPECT_EQ(
      annotations_patch(made, again),
      R"({"deployment.kubernetes.io/revision":"3","deployment.kubernetes.io/revision-history":"1"})");
}

}  // namespace
}  // namespace berth::controllers
