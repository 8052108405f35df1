// SPDX-License-Identifier: Apache-2.0
// What becomes of scavengers that are in the way, told once for each door.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/ours/ours.h"
#include "policy/scavenge/victim_record.h"
#include "stage.h"

namespace berth::scavenger_doors {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

FixtureJob silent(std::string name, WallTime started, std::int64_t rate_milli = 4000) {
  FixtureJob job{.name = std::move(name)};
  job.basis = {.since = started, .rate_milli = rate_milli, .window = 30min, .steps = 3};
  job.started = started;
  return job;
}
FixturePod member(std::string job, std::string node, std::int64_t cores = 4000, int index = 0) {
  return {.name = fmt::format("{}-{}", job, index),
          .node = std::move(node),
          .job = std::move(job),
          .cores = cores};
}
// Two nodes, each full with a job of its own; the second started ten minutes after the first.
Fixture two_jobs(WallTime older) {
  Fixture all;
  all.nodes = {{.name = "n0"}, {.name = "n1"}};
  all.jobs = {silent("older", older), silent("younger", older + 10min)};
  all.pods = {member("older", "n0"), member("younger", "n1")};
  all.preemptor.cores = 2000;
  return all;
}

class Doors : public testing::TestWithParam<Door> {
 protected:
  std::vector<std::string> victims_of(const Fixture& fixture) {
    Stage stage({.door = GetParam()});
    stage.show(fixture);
    stage.preemptor_comes(fixture);
    return stage.victims();
  }
};
INSTANTIATE_TEST_SUITE_P(Three, Doors, testing::ValuesIn(kDoors),
                         [](const auto& door) { return name_of(door.param); });

TEST_P(Doors, R28_TheYoungerIsTheVictimAndTheOlderOnceItStartsOver) {
  const WallTime now = Stage::begin() + 2s;
  EXPECT_THAT(victims_of(two_jobs(now - 25min)), ElementsAre("younger-0"));
  EXPECT_THAT(victims_of(two_jobs(now - 35min)), ElementsAre("older-0"));
}

TEST_P(Doors, R28_ACheckpointMakesAJobTheVictim) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.jobs[0].basis.reported = true;
  all.jobs[0].basis.since = now - 2min;
  EXPECT_THAT(victims_of(all), ElementsAre("older-0"));
}

TEST_P(Doors, F4_AGangCountsOnceAndWithAllItsMembers) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all;
  all.nodes = {{.name = "n0"}, {.name = "n1"}, {.name = "n2"}};
  // Two pods of a gang of three are on n0: a pod of it costs a third of what the gang costs.
  all.jobs = {silent("gang", now - 15min, 6000), silent("one", now - 15min, 4000)};
  all.pods = {member("gang", "n0", 2000, 0), member("gang", "n0", 2000, 1),
              member("gang", "n1", 2000, 2), member("one", "n2", 4000)};
  all.pods.push_back({.name = "usual", .node = "n1", .cores = 2000, .priority = 0});
  all.preemptor.cores = 2000;
  EXPECT_THAT(victims_of(all), ElementsAre("one-0")) << "4 core-minutes are less than 6";
  all.jobs[1] = silent("one", now - 15min, 7000);
  EXPECT_THAT(victims_of(all), ElementsAre("gang-0", "gang-1")) << "and both on its node go";
}

TEST_P(Doors, R4_ScavengersGoBeforeOrdinaryPodsWhateverBudgetsSay) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.nodes.push_back({.name = "n2"});
  all.pods.push_back({.name = "usual", .node = "n2", .cores = 4000, .priority = 0});
  all.preemptor.priority = 10;
  all.budgets = {{"all", "x", 0}};
  for (FixturePod& pod : all.pods) pod.app = pod.job.empty() ? "y" : "x";
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
}

TEST_P(Doors, ABudgetCountsWhereThePolicyHonoursThem) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.pods[1].app = "guarded";
  all.budgets = {{"guard", "guarded", 0}};
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
  all.honour = true;
  EXPECT_THAT(victims_of(all), ElementsAre("older-0"));
}

TEST_P(Doors, F16_WhoHasNotRunItsMinimumGoesAfterTheOthers) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.jobs[1].min_run = 20min;
  EXPECT_THAT(victims_of(all), ElementsAre("older-0"));
  all.jobs[1].min_run = 10min;
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
  all.jobs[1].min_run = 20min;
  all.pods[0].priority = -999;  // starved
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0")) << "the priority comes first";
}

TEST_P(Doors, F4_AJobThatLosesAMemberAnywayCostsNothingMore) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.pods[0].deleting = true;
  EXPECT_THAT(victims_of(all), IsEmpty())
      << "the older one is on its way out: nobody else has to go";
}

TEST_P(Doors, F4_AGangThatLosesAMemberOnANodeThatNobodyLooksAtCostsNothingMoreEither) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.nodes.push_back({.name = "drained", .cordoned = true});
  all.pods.push_back(member("older", "drained", 1000, 1));
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
  all.pods.back().deleting = true;
  if (GetParam() == Door::kOperator) {
    EXPECT_THAT(victims_of(all), IsEmpty()) << "the Job controller ends the others of the gang";
  } else {
    EXPECT_THAT(victims_of(all), ElementsAre("older-0"));
  }
}

TEST_P(Doors, F7_WhoIsAllowedTimeForACheckpointIsAskedFirst) {
  const WallTime now = Stage::begin() + 2s;
  Fixture all = two_jobs(now - 25min);
  all.jobs[1].max_notice = 30s;
  all.max_notice = "20s";
  Stage stage({.door = GetParam()});
  stage.show(all);
  stage.preemptor_comes(all);
  const std::string asked = stage.job("younger").annotation(kube::kReclaimAnnotation);
  EXPECT_THAT(asked, HasSubstr(R"("for":"default/wanted")"));
  EXPECT_THAT(asked, HasSubstr(R"("deadline":")"));
  EXPECT_EQ(stage.job("older").annotation(kube::kReclaimAnnotation), "");
  EXPECT_THAT(stage.victims(), IsEmpty());
  stage.run(17s);
  EXPECT_THAT(stage.victims(), IsEmpty()) << "it has twenty seconds";
  stage.run(7s);
  EXPECT_THAT(stage.victims(), ElementsAre("younger-0")) << "nobody has seen to it";
  EXPECT_THAT(stage.events_of("younger"), Contains(StartsWith("ReclaimRequested: Time for a")));
}

TEST_P(Doors, F7_NobodyIsAskedUnlessThePolicyAllowsIt) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  all.jobs[1].max_notice = 30s;
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
}

TEST_P(Doors, F7_ARequestIsWithdrawnWhenThePodIsGone) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  all.jobs[1].max_notice = 30s;
  all.max_notice = "30s";
  Stage stage({.door = GetParam()});
  stage.show(all);
  stage.preemptor_comes(all);
  ASSERT_NE(stage.job("younger").annotation(kube::kReclaimAnnotation), "");
  stage.server.objects.remove(kube::kPod, {"default", "wanted"});
  stage.run(5s);
  EXPECT_EQ(stage.job("younger").annotation(kube::kReclaimAnnotation), "");
  stage.run(1min);
  EXPECT_THAT(stage.victims(), IsEmpty());
}

TEST_P(Doors, F15_WhoCanDoWithLessIsMadeSmallerBeforeAnybodyGoes) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  all.jobs[0].least_cpu = "2";
  Stage stage({.door = GetParam()});
  stage.show(all);
  stage.preemptor_comes(all);
  EXPECT_NE(stage.job("older").annotation(kube::kReclaimAnnotation), "");
  stage.run(5s);
  EXPECT_THAT(stage.victims(), IsEmpty());
  // Nobody is there who would make it smaller: it is left alone, and the cheapest goes.
  stage.run(9s);
  EXPECT_EQ(stage.job("older").annotation(kube::kReclaimAnnotation), "");
  EXPECT_THAT(stage.victims(), ElementsAre("younger-0"));
}

TEST_P(Doors, F15_WhatWouldNotBeEnoughIsNotTried) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  all.jobs[0].least_cpu = "3";
  EXPECT_THAT(victims_of(all), ElementsAre("younger-0"));
}

TEST_P(Doors, VictimsThatTakeTheirTimeAreNotReplacedByOthers) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  for (FixturePod& pod : all.pods) pod.kept = true;
  Stage stage({.door = GetParam()});
  stage.server.objects.follow_rules(true);
  stage.show(all);
  stage.preemptor_comes(all);
  EXPECT_THAT(stage.victims(), ElementsAre("younger-0"));
  for (int i = 0; i < 5; ++i) {
    stage.run(10s);
    stage.server.objects.set(  // something happens that might help
        kube::kNode, {"", "n2"},
        fmt::format(
            R"("spec":{{}},"status":{{"allocatable":{{"cpu":"{}m","memory":"1Gi","pods":"1"}}}})",
            100 + i));
  }
  EXPECT_THAT(stage.victims(), ElementsAre("younger-0"));
}

TEST_P(Doors, F20_AJobIsToldWhyItHadToGo) {
  Stage stage({.door = GetParam()});
  const Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  stage.show(all);
  stage.preemptor_comes(all);
  stage.run(5s);
  EXPECT_THAT(stage.events_of("younger"),
              Contains(HasSubstr("1 job interrupted on n1 for default/wanted: default/younger")));
  std::optional<scavenge::VictimRecord> record;
  for (const auto& [key, event] : stage.server.objects.all(kube::kEvent))
    if (event.member("regarding")["name"].equals("younger"))
      record = scavenge::parse_victim_record(event.annotation("berth.dev/victims"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->door, name_of(GetParam()));
  EXPECT_EQ(record->node, "n1");
  EXPECT_EQ(record->cost, 4000 * 600) << "ten minutes of four cores";
  EXPECT_EQ(record->stock_cost, 4000 * 1200) << "its order takes the first of equals";
  ASSERT_EQ(record->victims.size(), 1u);
  EXPECT_THAT(record->victims[0].pods, ElementsAre("younger-0"));
  EXPECT_EQ(record->victims[0].running_priority, 1);
  ASSERT_EQ(record->alternatives.size(), 1u);
  EXPECT_EQ(record->alternatives[0].node, "n0");
  EXPECT_EQ(record->alternatives[0].cost, 4000 * 1200);
}

TEST(ExtenderDoor, F5_OrdinaryPodsAreStillScheduledWhileItIsAway) {
  Stage stage({.door = Door::kExtender});
  const Fixture all = two_jobs(Stage::begin() + 2s - 35min);
  stage.show(all);
  stage.kill_extender();
  stage.preemptor_comes(all);
  EXPECT_EQ(stage.victims().size(), 1u);
  stage.run(30s);
  EXPECT_NE(stage.server.node_of("wanted"), "");
}

TEST(ExtenderDoor, WhereNoScavengerIsInTheWayTheCandidatesGoBackAsTheyCame) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  for (FixturePod& pod : all.pods) pod.job = "";
  all.nodes.push_back({.name = "n2", .cordoned = true});
  all.pods.push_back(member("older", "n2", 4000, 9));
  for (const bool names_only : {true, false}) {
    Stage stage({.door = Door::kExtender, .names_only = names_only});
    stage.show(all);
    stage.preemptor_comes(all);
    ASSERT_EQ(stage.replies.size(), 1u);
    for (const char* pod : {"older-0", "younger-0"})
      EXPECT_THAT(stage.bodies[0], HasSubstr(names_only ? "NodeNameToMetaVictims" : pod));
    EXPECT_THAT(stage.replies[0], HasSubstr(R"("n0":{"Pods":[{"UID":"uid-)"));
    EXPECT_THAT(stage.replies[0], HasSubstr(R"("n1":{"Pods":[{"UID":"uid-)"));
  }
}

TEST(OperatorDoor, PolitePodsAreServedWhereThePolicySaysSoAndGhostsAlways) {
  const Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  for (const bool on : {true, false})
    for (const bool ghost : {true, false}) {
      Stage stage({.door = Door::kOperator});
      show(all, stage.server.objects, on);
      stage.run(2s);
      stage.server.objects.set(
          kube::kPod, {"default", "ghost"},
          fmt::format(
              R"("metadata":{{"labels":{{"{}":"true"}}}},"spec":{{"schedulerName":"default-scheduler","priority":{},"priorityClassName":"{}","preemptionPolicy":"Never","containers":[{{"name":"c","resources":{{"requests":{{"cpu":"2"}}}}}}]}},"status":{{"phase":"Pending","conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable"}}]}})",
              ghost ? kube::kGhostLabel : "some/label", ghost ? 100'000 : 0,
              ghost ? kube::kGhostClass : kube::kPoliteClass));
      stage.run(3s);
      EXPECT_EQ(stage.victims().empty(), !on && !ghost) << on << ghost;
    }
}

TEST(OperatorDoor, APodThatIsNotPoliteIsItsSchedulersBusiness) {
  Fixture all = two_jobs(Stage::begin() + 2s - 25min);
  Stage stage({.door = Door::kOperator});
  stage.show(all);
  stage.run(100ms);
  show_preemptor(all, stage.server.objects, false);
  stage.run(10s);
  EXPECT_THAT(stage.victims(), IsEmpty());
}

}  // namespace
}  // namespace berth::scavenger_doors
