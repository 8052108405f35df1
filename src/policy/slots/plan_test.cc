// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/plan.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/slots/forecast.h"
#include "policy/slots/slots_for_test.h"

namespace berth::slots {
namespace {

using Mode = Demand::Mode;

TestbedScene with_jobs(std::string_view jobs, int nodes = 3, int per_node = 2) {
  TestbedScene scene(nodes, per_node);
  for (const char job : jobs) scene.job(std::string(1, job));
  return scene;
}
std::string why(const GrantPlan& plan) {
  std::string out;
  for (const Waiting& each : plan.waiting)
    out += fmt::format("{}{} {}: {}", out.empty() ? "" : "; ", each.job.name, each.reason,
                       each.message);
  return out;
}

TEST(PlanGrants, ESI_083_EntryIStandsOnTheIthFreeSlot) {
  TestbedScene scene = with_jobs("AB");
  EXPECT_EQ(text_of(scene.plan({queue_of("ABBA")}).grants), "A{0,3} B{1,2}");
}

TEST(PlanGrants, ESI_083_WhatDoesNotFitWaitsInOrder) {
  TestbedScene scene = with_jobs("ABCD");
  const GrantPlan plan = scene.plan({queue_of("AABBBCCCDD")});
  EXPECT_EQ(text_of(plan.grants), "A{0,1} B{2,3,4}");
  EXPECT_EQ(why(plan), "C WaitingForCapacity: default/C needs 3 slots, 2 of them are not free");
}

// The prototype counted slots instead of placing entries, and failed here for ever.
TEST(PlanGrants, ESI_084_AnInterleavedQueueWaitsForAllOfItsSlots) {
  TestbedScene scene = with_jobs("AB");
  scene.grant("other", {0, 1, 2, 3}, true, "t");
  EXPECT_EQ(text_of(scene.plan({queue_of("ABA")}).grants), "");
  TestbedScene three = with_jobs("AB");
  three.grant("other", {0, 1, 2}, true, "t");
  EXPECT_EQ(text_of(three.plan({queue_of("ABA")}).grants), "A{3,5} B{4}");
}

TEST(PlanGrants, ESI_085_StrictDoesNotOvertakeAndRelaxedDoes) {
  const std::vector<std::pair<std::string, std::set<SlotNumber>>> jobs = {
      {"A", {0, 1}}, {"B", {0, 1}}, {"C", {4}}};
  TestbedScene scene = with_jobs("ABC");
  const GrantPlan strict = scene.plan({slots_of(Mode::kStrict, jobs)});
  EXPECT_EQ(text_of(strict.grants), "A{0,1}");
  EXPECT_EQ(why(strict), "B WaitingForCapacity: slots 0, 1 are not free");
  EXPECT_EQ(text_of(scene.plan({slots_of(Mode::kRelaxed, jobs)}).grants), "A{0,1} C{4}");
}

TEST(PlanGrants, ESI_085_AJobThatStarvesIsPassedOverNoMore) {
  TestbedScene scene = with_jobs("ABC");
  scene.grant("A", {0}, true);
  Demand demand = slots_of(Mode::kRelaxed, {{"A", {0}}, {"B", {0, 1}}, {"C", {1}}});
  demand.progress[{"default", "A"}] = {.used = 1, .last_run = 1};
  EXPECT_EQ(text_of(scene.plan({demand}).grants), "C{1}");
  demand.progress[{"default", "B"}].starving = true;
  EXPECT_EQ(text_of(scene.plan({demand}).grants), "");
}

TEST(PlanGrants, ESI_123_EditsActOnWhatIsLeft) {
  TestbedScene scene = with_jobs("ABC", 1, 3);
  scene.grant("A", {0}, true);
  Demand demand = queue_of("ACB");  // was ABC
  demand.progress[{"default", "A"}] = {.used = 1, .last_run = 1};
  EXPECT_EQ(text_of(scene.plan({demand}).grants), "C{1} B{2}");
  demand = queue_of("C");  // A and B were removed
  demand.progress[{"default", "A"}] = {.used = 1, .last_run = 1};
  EXPECT_EQ(text_of(scene.plan({demand}).grants), "C{1}");
}

TEST(PlanGrants, ESI_087_AnEntryAddedForARunningJobIsARunAfterIt) {
  TestbedScene scene = with_jobs("A");
  scene.grant("A", {0}, true);
  Demand demand = queue_of("AA");
  demand.progress[{"default", "A"}] = {.used = 1, .last_run = 1};
  EXPECT_EQ(why(scene.plan({demand})),
            "A WaitingForCapacity: the run of default/A before has not ended");
  TestbedScene ended = with_jobs("A");
  ended.jobs[{"default", "A"}].next_run = 2;
  const GrantPlan plan = ended.plan({demand});
  EXPECT_EQ(text_of(plan.grants), "A{0}");
  EXPECT_EQ(run_of(plan.grants[0].id), 2);
}

TEST(PlanGrants, ESI_126_SchedulingsShareATestbedAndTheLaterTakesNothingTheEarlierWants) {
  TestbedScene scene(3, 2);
  scene.job("A", "s").job("B", "t").job("C", "s");
  EXPECT_EQ(text_of(scene
                        .plan({slots_of(Mode::kStrict, {{"A", {0, 1}}}),
                               slots_of(Mode::kStrict, {{"B", {4, 5}}}, "t")})
                        .grants),
            "A{0,1} B{4,5}");
  scene.grant("X", {0}, true, "u");
  // A waits for 0; slot 1 and C's slot 2 are not for the later one.
  EXPECT_EQ(text_of(scene
                        .plan({slots_of(Mode::kStrict, {{"A", {0, 1}}, {"C", {2}}}),
                               slots_of(Mode::kRelaxed, {{"B", {2}}}, "t")})
                        .grants),
            "");
  EXPECT_EQ(text_of(scene.plan({queue_of("AAAAAA"), queue_of("B", "t")}).grants), "");
}

TEST(PlanGrants, ESI_012_ASlotThatIsNotThereIsNamed) {
  TestbedScene scene = with_jobs("AB");
  EXPECT_EQ(why(scene.plan({slots_of(Mode::kRelaxed, {{"A", {9}}, {"B", {1}}})})),
            "A InvalidSlot: the Testbed has no slot 9");
}

TEST(PlanGrants, ESI_090_AJobThatDoesNotExistIsNamed) {
  TestbedScene scene = with_jobs("B");
  const GrantPlan plan = scene.plan({queue_of("AB")});
  EXPECT_EQ(why(plan), "A JobNotFound: BatchJob default/A does not exist");
  EXPECT_EQ(text_of(plan.grants), "");
}

TEST(PlanGrants, ESI_128_QuotasHoldAndTheNextSchedulingProceeds) {
  TestbedScene scene = with_jobs("AB");
  scene.jobs[{"other", "C"}] = {.uid = "c", .claimed_by = {"default", "t"}};
  scene.quotas = {{"default", 2, std::nullopt}};
  Demand later{.key = {"default", "t"}, .entries = {{{"other", "C"}}}};
  const GrantPlan plan = scene.plan({queue_of("AAB"), later});
  EXPECT_EQ(text_of(plan.grants), "A{0,1} C{2}");
  EXPECT_EQ(why(plan), "B QuotaExceeded: namespace default has 2 of 2 slots and wants 1 more");
  scene.quotas = {{"*", std::nullopt, 1}};
  EXPECT_EQ(text_of(scene.plan({queue_of("AAB"), later}).grants), "A{0,1} C{2}");
}

TEST(PlanGrants, ESI_124_SlotsOfARunningJobGrowAllOrNoneAndShrink) {
  TestbedScene scene = with_jobs("A");
  const GrantId grant = scene.grant("A", {0, 1}, true);
  Demand demand = slots_of(Mode::kStrict, {{"A", {0, 1, 4}}});
  demand.progress[{"default", "A"}] = {.used = 2, .last_run = 1};
  GrantPlan plan = scene.plan({demand});
  ASSERT_EQ(plan.resizes.size(), 1u);
  EXPECT_EQ(plan.resizes[0].grant, grant);
  EXPECT_THAT(plan.resizes[0].more, testing::ElementsAre(4));
  scene.grant("B", {5}, true, "t");
  demand.entries[0].slots = {1, 4, 5};
  plan = scene.plan({demand});
  ASSERT_EQ(plan.resizes.size(), 1u);
  EXPECT_THAT(plan.resizes[0].less, testing::ElementsAre(0));
  EXPECT_EQ(why(plan), "A WaitingForCapacity: slot 5 is held by default/B");
}

TEST(PlanGrants, P_09_AJobGetsSlotsOfItsClass) {
  TestbedScene scene(2, 1);
  scene.wanted.push_back({"gpu", 1, {"n1"}});
  scene.classes.push_back({"gpu", 1, "", {}});
  scene.ledger.blocks = next_blocks({}, scene.wanted, true);
  scene.ghost(2).job("A").job("B");
  scene.jobs[{"default", "B"}].slot_class = "gpu";
  EXPECT_EQ(text_of(scene.plan({queue_of("AB")}).grants), "A{0} B{2}");
  EXPECT_EQ(why(scene.plan({slots_of(Mode::kStrict, {{"B", {0}}})})),
            "B InvalidSlot: slot 0 is of class default, the job needs gpu");
}

TEST(PlanGrants, ESI_004_AnOrderByHandGetsExactlyItsSlotsOrNothing) {
  TestbedScene scene = with_jobs("AB");
  scene.by_hand = {{{"default", "A"}, 1, {2, 4}}};
  EXPECT_EQ(text_of(scene.plan({queue_of("B")}).grants), "A{2,4} B{0}");
  scene.grant("X", {4}, false, "t");
  EXPECT_EQ(why(scene.plan({})), "A SlotsTaken: slot 4 is held by default/X");
}

// Every queue of up to five entries of three jobs, on every number of free slots: what is granted
// is a prefix of the jobs, whole, on the slots of its entries, and the first that is not does not
// fit.
TEST(PlanGrantsExhaustive, AQueueGrantsThePrefixThatFits) {
  for (int length = 1; length <= 5; ++length) {
    int combinations = 1;
    for (int i = 0; i < length; ++i) combinations *= 3;
    for (int code = 0; code < combinations; ++code) {
      std::string entries;
      for (int i = 0, rest = code; i < length; ++i, rest /= 3)
        entries += static_cast<char>('A' + rest % 3);
      for (int free = 0; free <= 5; ++free) {
        TestbedScene scene = with_jobs("ABC", 5, 1);
        std::set<SlotNumber> taken;
        for (int slot = 0; slot < 5 - free; ++slot) taken.insert(slot);
        if (!taken.empty()) scene.grant("X", taken, true, "t");
        std::string expected, order;
        for (const char job : entries)
          if (order.find(job) == order.npos) order += job;
        for (const char job : order) {
          std::string slots;
          bool fits = true;
          for (int i = 0; i < length; ++i) {
            if (entries[static_cast<std::size_t>(i)] != job) continue;
            fits &= i < free;
            slots += fmt::format("{}{}", slots.empty() ? "" : ",", 5 - free + i);
          }
          if (!fits) break;
          expected += fmt::format("{}{}{{{}}}", expected.empty() ? "" : " ", job, slots);
        }
        ASSERT_EQ(text_of(scene.plan({queue_of(entries)}).grants), expected)
            << entries << " on " << free;
      }
    }
  }
}

// Random demands over random tables: every plan is a legal step of the ledger, on free slots only.
TEST(PlanGrantsProperty, EveryPlanIsALegalStep) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    TestbedScene scene(3, 2);
    for (const char* job : {"A", "B", "C", "D"}) scene.job(job, random.chance(0.5) ? "s" : "t");
    for (SlotNumber slot = 0; slot < 6; ++slot) {
      if (random.chance(0.2)) scene.no_ghost(slot);
      if (random.chance(0.2))
        scene.grant(fmt::format("X{}", slot), {slot}, random.chance(0.5), "u");
    }
    std::vector<Demand> demands;
    for (const char* name : {"s", "t"}) {
      Demand demand{
          .key = {"default", name}, .mode = static_cast<Mode>(random.below(3)), .entries = {}};
      for (const char* job : {"A", "B", "C", "D"}) {
        if (scene.jobs[{"default", job}].claimed_by.name != name) continue;
        std::set<SlotNumber> slots;
        while (slots.empty() || random.chance(0.5))
          slots.insert(static_cast<SlotNumber>(random.below(7)));
        const std::size_t times = demand.mode == Mode::kQueue ? 1 + random.below(3) : 1;
        for (std::size_t i = 0; i < times; ++i) demand.entries.push_back({{"default", job}, slots});
      }
      demands.push_back(std::move(demand));
    }
    const SlotTable table = scene.table();
    Ledger after = scene.ledger;
    for (const Grant& grant : scene.plan(demands).grants) {
      for (const SlotNumber slot : grant.slots)
        ASSERT_EQ(table.find(slot)->state, SlotState::kFree) << seed;
      ASSERT_TRUE(after.grant(grant)) << seed;
    }
    ASSERT_EQ(illegal_step(scene.ledger, after), "") << seed;
  }
}

ForecastInput forecast_of(const TestbedScene& scene, std::vector<Demand> demands) {
  return {.table = scene.table(),
          .ledger = scene.ledger,
          .by_ticket = std::move(demands),
          .jobs = scene.jobs};
}

TEST(Forecast, P_02_PlaysTheQueueWithTheDurationsOfHistory) {
  TestbedScene scene = with_jobs("ABC", 1, 2);
  ForecastInput in = forecast_of(scene, {queue_of("ABC")});
  in.samples[{"default", "A"}] = {.runs = {{1, 0s, 60s}}};
  in.samples[{"default", "B"}] = {.runs = {{1, 5s, 25s}}};
  in.samples[{"default", "C"}] = {.runs = {{1, 0s, 10s}}};
  const Forecast result = forecast(in, 1);
  ASSERT_EQ(result.runs.size(), 3u);
  EXPECT_TRUE(result.certain());
  EXPECT_EQ(result.runs[2].job.name, "C");
  EXPECT_EQ(result.runs[2].start->p50, 30s);
  EXPECT_EQ(result.runs[2].end->p90, 40s);
  EXPECT_THAT(result.runs[2].slots, testing::ElementsAre(1));
  EXPECT_THAT(result.runs[2].after, testing::ElementsAre(Key{"default", "B"}));
}

TEST(Forecast, BehindAJobThatNobodyKnowsTheEndIsOpen) {
  TestbedScene scene = with_jobs("AB", 1, 1);
  const Forecast result = forecast(forecast_of(scene, {queue_of("AB")}), 1, 10);
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_TRUE(result.runs[0].open_end);
  ASSERT_EQ(result.never.size(), 1u);
  EXPECT_EQ(result.never[0].job.name, "B");
}

TEST(Forecast, ARunningJobHasWhatItsLongerRunsHadLeftAndIsOverdueWithoutSuch) {
  TestbedScene scene = with_jobs("B", 1, 1);
  const GrantId grant = scene.grant("A", {0}, true);
  Demand demand = queue_of("AB");
  demand.progress[{"default", "A"}] = {.used = 1, .last_run = 1};
  ForecastInput in = forecast_of(scene, {demand});
  in.samples[{"default", "A"}] = {.runs = {{1, 0s, 10s}, {1, 0s, 100s}}};
  in.samples[{"default", "B"}] = {.runs = {}, .estimated = 7s};
  in.ages[grant] = 40s;
  Forecast result = forecast(in, 1);
  EXPECT_EQ(result.runs.at(0).start->p10, 60s);
  EXPECT_EQ(result.runs.at(0).end->p10, 67s);
  in.ages[grant] = 200s;
  result = forecast(in, 1);
  EXPECT_THAT(result.overdue, testing::ElementsAre(Key{"default", "A"}));
}

TEST(Forecast, TheSameDraftHasTheSameAnswerAndChanceShowsInTheOrder) {
  TestbedScene scene = with_jobs("ABCD", 1, 2);
  ForecastInput in = forecast_of(
      scene, {slots_of(Mode::kRelaxed, {{"A", {0}}, {"B", {1}}, {"C", {0}}, {"D", {1}}})});
  for (const char* job : {"A", "B"})
    in.samples[{"default", job}] = {.runs = {{1, 0s, 10s}, {1, 0s, 20s}, {1, 0s, 30s}}};
  for (const char* job : {"C", "D"}) in.samples[{"default", job}] = {.runs = {{1, 0s, 5s}}};
  const Forecast one = forecast(in, seed_of("draft")), two = forecast(in, seed_of("draft"));
  EXPECT_LT(one.order_share, 1);
  EXPECT_EQ(one.order_share, two.order_share);
  ASSERT_EQ(one.runs.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(one.runs[i].start->p50, two.runs[i].start->p50);
}

}  // namespace
}  // namespace berth::slots
