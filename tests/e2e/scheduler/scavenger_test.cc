// SPDX-License-Identifier: Apache-2.0
// Scavengers in the way of pods that the stock kube-scheduler places: beside the extender it
// interrupts whom our own scheduler would, and without it pods are placed all the same.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "kube/ours/ours.h"
#include "scale.h"
#include "scavenger_stage.h"
#include "stage.h"

namespace berth::e2e {
namespace {

using scavenger_doors::Fixture;
using scavenger_doors::FixtureJob;
using testing::ElementsAre;

WallTime this_second(ScavengerStage& stage) {
  const std::int64_t now = stage.admin().loop().executor().clock().wall().unix_nanos;
  return {now - now % 1'000'000'000};
}

// Two nodes, each full with a job of its own; the second started ten minutes after the first.
Fixture two_jobs(WallTime older) {
  Fixture all;
  for (int i = 0; i < 2; ++i) {
    FixtureJob job{.name = i == 0 ? "older" : "younger"};
    job.started = older + 10min * i;
    job.basis = {.since = job.started, .rate_milli = 4000, .window = 30min, .steps = 3};
    all.nodes.push_back({.name = fmt::format("n{}", i)});
    all.jobs.push_back(job);
    all.pods.push_back(
        {.name = job.name + "-0", .node = all.nodes.back().name, .job = job.name, .cores = 4000});
  }
  all.preemptor.cores = 2000;
  return all;
}

// A pod that nobody ever made asks for room: it is answered for as soon as the extender knows what
// is in the way.
bool names_one_node(ScavengerStage& stage, const ExtenderProcess& extender, const char* node) {
  const auto reply = extender.post(
      stage.admin().loop(), "/scavengers/preempt",
      R"({"Pod":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"asks","namespace":"default","uid":"asks"},"spec":{"priority":0,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"}}}]}},"NodeNameToMetaVictims":{"n0":{"Pods":[{"UID":"a"}],"NumPDBViolations":0},"n1":{"Pods":[{"UID":"b"}],"NumPDBViolations":0}}})");
  if (!reply) return false;
  const json::Slice nodes = json::Slice(std::string_view(*reply))["NodeNameToMetaVictims"];
  return nodes.size() == 1 && nodes[node].present();
}

class StockScheduler : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto there = program_of(Subject::kStock); !there)
      GTEST_SKIP() << there.error().message;
    auto cluster = Cluster::start({.controllers = {}, .kwok = false});
    if (!cluster && cluster.error().reason == Reason::kNotFound)
      GTEST_SKIP() << cluster.error().message;
    ASSERT_TRUE(cluster) << cluster.error().message;
    cluster_ = *std::move(cluster);
    stage_ = std::make_unique<ScavengerStage>(*cluster_);
  }
  void TearDown() override {
    stage_.reset();
    cluster_.reset();
  }
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<ScavengerStage> stage_;
};

TEST_F(StockScheduler, F5_R28_TheYoungerIsTheVictimAndTheOlderOnceItStartsOver) {
  auto extender = ExtenderProcess::start(*cluster_);
  ASSERT_TRUE(extender) << extender.error().message;
  stage_->start_scheduler((*extender)->url());
  struct Case {
    Duration age;
    const char *victim, *node;
  };
  for (const Case& one : {Case{25min, "younger-0", "n1"}, Case{35min, "older-0", "n0"}}) {
    Fixture all = two_jobs(this_second(*stage_) - one.age);
    stage_->show(all);
    stage_->scheduler_knows(2);
    stage_->until("the extender knows the jobs",
                  [&] { return names_one_node(*stage_, **extender, one.node); });
    stage_->preemptor_comes(all);
    stage_->until("somebody goes", [&] { return !stage_->leaving().empty(); });
    EXPECT_THAT(stage_->leaving(), ElementsAre(one.victim));
    stage_->until("the room is promised", [&] { return stage_->nominated("wanted") == one.node; });
    stage_->leave();
    stage_->until("the pod is placed", [&] { return stage_->node_of("wanted") == one.node; });
    stage_->clear();
    if (HasFailure()) return;
  }
}

TEST_F(StockScheduler, F5_OrdinaryPodsAreStillScheduledWhileTheExtenderIsDead) {
  auto extender = ExtenderProcess::start(*cluster_);
  ASSERT_TRUE(extender) << extender.error().message;
  stage_->start_scheduler((*extender)->url());
  // By lost work the older would go; kube-scheduler's own order knows nothing of it.
  Fixture all = two_jobs(this_second(*stage_) - 35min);
  all.nodes.push_back({.name = "n2", .cores = 1000});
  stage_->show(all);
  stage_->scheduler_knows(3);
  (*extender)->child().signal(SIGKILL);
  ASSERT_TRUE((*extender)->child().wait(std::chrono::seconds(10)));
  Fixture small = all;
  small.preemptor.name = "small";
  small.preemptor.cores = 500;
  stage_->preemptor_comes(small);
  stage_->until("a pod that has room is placed", [&] { return stage_->node_of("small") == "n2"; });
  stage_->preemptor_comes(all);
  stage_->until("a scavenger goes", [&] { return stage_->leaving().size() == 1; });
  stage_->leave();
  stage_->until("the pod is placed", [&] { return !stage_->node_of("wanted").empty(); });
}

// What our scheduler does in virtual time about the same cluster at the same moment.
std::vector<std::string> our_victims(Fixture all, WallTime at) {
  scavenger_doors::Stage stage({.door = scavenger_doors::Door::kScheduler});
  const WallTime then = scavenger_doors::Stage::begin() + 2s;
  const Duration later = WallTime{then.unix_nanos - then.unix_nanos % 1'000'000'000} - at;
  for (FixtureJob& job : all.jobs) {
    job.basis.since = job.basis.since + later;
    job.started = job.started + later;
  }
  stage.show(all);
  stage.preemptor_comes(all);
  std::vector<std::string> victims = stage.victims();
  std::sort(victims.begin(), victims.end());
  return victims;
}

TEST_F(StockScheduler, F3_BesideTheExtenderTheVictimsAreThoseOfOurOwnScheduler) {
  KnownExtender extender(stage_->admin());
  stage_->start_scheduler(extender.url());
  const std::uint64_t fixtures = scaled<std::uint64_t>(12, 1000);
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= fixtures && !HasFailure(); ++seed) {
    Random random(4'000'000 + seed);
    Fixture all = scavenger_doors::random_fixture(random, 2 + random.below(5), 2 + random.below(11),
                                                  this_second(*stage_));
    for (FixtureJob& job : all.jobs) job.alias = false;
    stage_->show(all);
    stage_->until("the extender knows everything", [&] { return extender.knows(all); });
    stage_->scheduler_knows(all.nodes.size());
    const int asked = extender.asked();
    stage_->preemptor_comes(all);
    stage_->until("the pod was looked at", [&] { return stage_->decided("wanted"); });
    const auto choices = extender.new_choices();
    if (!choices.empty()) {
      const std::vector<std::string> ours = our_victims(all, choices.front().at);
      stage_->until("the victims were told",
                    [&] { return stage_->leaving().size() >= ours.size(); });
      EXPECT_EQ(stage_->leaving(), ours) << "seed " << seed;
      stage_->until("the room is promised",
                    [&] { return stage_->nominated("wanted") == choices.front().node; });
      ++compared;
    } else if (extender.asked() > asked) {
      EXPECT_FALSE(brute_force(all, this_second(*stage_))) << "seed " << seed;
    }
    stage_->clear();
    stage_->until("the extender has seen it go", [&] { return extender.knows_nothing(); });
  }
  EXPECT_GT(compared * 4, fixtures) << "hardly anybody had to be chosen";
}

}  // namespace
}  // namespace berth::e2e
