// SPDX-License-Identifier: Apache-2.0
// One choice, three doors: on random clusters all of them name the same victims, in the same order,
// and those are the ones that lose the least work.
#include <algorithm>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "stage.h"

namespace berth::scavenger_doors {
namespace {

// A tenth of what BERTH_SEEDS asks for at night.
std::uint64_t fixtures() {
  const char* asked = std::getenv("BERTH_SEEDS");
  return asked == nullptr ? 100 : std::stoull(asked);
}

struct Told {
  std::vector<std::string> victims;
  bool asked = true;
};
Told told_by(Door door, const Fixture& fixture, bool names_only) {
  Stage stage({.door = door, .names_only = names_only});
  stage.show(fixture);
  stage.preemptor_comes(fixture);
  return {stage.victims(), door != Door::kExtender || stage.asked()};
}
WallTime decided() {
  const std::int64_t at = (Stage::begin() + 2s).unix_nanos;
  return {at - at % 1'000'000'000};
}

TEST(Victims, F3_F4_R28_TheThreeDoorsNameTheSameOnesAndTheyAreTheCheapest) {
  std::size_t chosen = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= fixtures(); ++seed) {
    Random random(seed);
    const Fixture fixture =
        random_fixture(random, 2 + random.below(5), 2 + random.below(11), decided());
    const auto best = brute_force(fixture, decided());
    const Told ours = told_by(Door::kScheduler, fixture, true);
    const Told theirs = told_by(Door::kExtender, fixture, seed % 2 == 0);
    if (theirs.asked) {
      EXPECT_EQ(ours.victims, theirs.victims) << "seed " << seed;
    }
    asked += theirs.asked ? 1 : 0;
    if (!best) continue;
    ++chosen;
    EXPECT_EQ(ours.victims, told_by(Door::kOperator, fixture, true).victims) << "seed " << seed;
    const BestChoice value = value_of(fixture, ours.victims, decided());
    EXPECT_EQ(value, *best) << "seed " << seed << ": "
                            << fmt::format("{} on {} cost {}, best {} on {} cost {}", value.names,
                                           value.node, value.cost, best->names, best->node,
                                           best->cost);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(chosen * 4, fixtures()) << "hardly anybody had to be chosen";
  EXPECT_GT(asked * 4, fixtures());
}

// A cost that is counted by pod, and not once a job, would be found by these fixtures.
TEST(Victims, F4_ACostByPodInsteadOfByJobWouldBeNoticed) {
  std::size_t noticed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const Fixture fixture =
        random_fixture(random, 2 + random.below(5), 2 + random.below(11), decided());
    Fixture wrong = fixture;
    for (FixtureJob& job : wrong.jobs) {
      const auto members =
          std::count_if(fixture.pods.begin(), fixture.pods.end(),
                        [&](const FixturePod& pod) { return pod.job == job.name; });
      if (members > 1) job.basis.rate_milli /= members;
    }
    const auto right = brute_force(fixture, decided()), other = brute_force(wrong, decided());
    if (right && right->names != other->names) ++noticed;
  }
  EXPECT_GT(noticed, 2u);
}

TEST(Victims, F4_R7_ManyJobsAreChosenFromNearlyAsWellAndNeverWorseThanByStockOrder) {
  const std::uint64_t most = std::max<std::uint64_t>(fixtures() / 10, 10);
  std::size_t compared = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= most; ++seed) {
    Random random(1'000'000 + seed);
    Fixture fixture = random_fixture(random, 2 + random.below(2), 28, decided());
    fixture.preemptor.cores = 3000 + 1000 * static_cast<std::int64_t>(random.below(4));
    const auto best = brute_force(fixture, decided());
    if (!best) continue;
    const BestChoice ours =
        value_of(fixture, told_by(Door::kScheduler, fixture, true).victims, decided());
    EXPECT_EQ(std::tuple(ours.violations, ours.tier), std::tuple(best->violations, best->tier))
        << "seed " << seed;
    EXPECT_LE(static_cast<double>(ours.cost), 1.15 * static_cast<double>(best->cost))
        << "seed " << seed;
    if (best->cost > 0)
      worst = std::max(worst, static_cast<double>(ours.cost) / static_cast<double>(best->cost));
    const BestChoice stock =
        value_of(fixture, told_by(Door::kStock, fixture, true).victims, decided());
    if (std::tuple(stock.violations, stock.tier) == std::tuple(ours.violations, ours.tier)) {
      EXPECT_LE(ours.cost, stock.cost) << "seed " << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0u);
  RecordProperty("worst", std::to_string(worst));
}

// Jobs alike, one a node: who is least far into its window goes.
TEST(Victims, R31_TheLowestRunningPriorityGoesFirst) {
  for (std::uint64_t seed = 1; seed <= std::min<std::uint64_t>(fixtures(), 200); ++seed) {
    Random random(2'000'000 + seed);
    Fixture fixture;
    const std::size_t count = 2 + random.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      fixture.nodes.push_back({.name = fmt::format("n{}", i)});
      FixtureJob job{.name = fmt::format("j{}", i)};
      job.basis = {.since = decided() - std::chrono::seconds(30 + 60 * random.below(120)),
                   .rate_milli = 4000,
                   .window = 30min,
                   .steps = 3};
      job.started = job.basis.since;
      fixture.jobs.push_back(job);
      fixture.pods.push_back({.name = job.name + "-0",
                              .node = fixture.nodes.back().name,
                              .job = job.name,
                              .cores = 4000});
    }
    const Door door = kDoors[seed % 3];
    const Told told = told_by(door, fixture, true);
    ASSERT_EQ(told.victims.size(), 1u) << "seed " << seed;
    const std::string victim = told.victims[0].substr(0, told.victims[0].find('-'));
    const int priority = scavenge::running_priority(fixture.job(victim).basis, decided());
    for (const FixtureJob& other : fixture.jobs)
      EXPECT_LE(priority, scavenge::running_priority(other.basis, decided()))
          << "seed " << seed << " " << name_of(door);
  }
}

// Everything that a scheduler does about a pod: whom it evicts, where the pod goes, what people are
// told.
std::string everything(Door door, const Fixture& fixture) {
  Stage stage({.door = door});
  stage.show(fixture);
  stage.preemptor_comes(fixture);
  stage.run(20s);
  return fmt::format("{} {} {}", stage.victims(), stage.server.node_of("wanted"),
                     fmt::join(stage.events_of("wanted"), "|"));
}

TEST(Victims, WhereNoScavengerIsAPossibleVictimNothingDiffersFromTheStockOrder) {
  for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(fixtures() / 2, 20); ++seed) {
    Random random(3'000'000 + seed);
    Fixture fixture = random_fixture(random, 2 + random.below(6), 2 + random.below(20), decided());
    // All of it is ordinary, and the scavengers are elsewhere.
    for (FixturePod& pod : fixture.pods) pod.job = "";
    fixture.nodes.push_back({.name = "elsewhere", .cordoned = true});
    for (const FixtureJob& job : fixture.jobs)
      fixture.pods.push_back(
          {.name = job.name + "-elsewhere", .node = "elsewhere", .job = job.name, .cores = 10});
    EXPECT_EQ(everything(Door::kScheduler, fixture), everything(Door::kStock, fixture))
        << "seed " << seed;
    EXPECT_EQ(everything(Door::kExtender, fixture), everything(Door::kStock, fixture))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::scavenger_doors
