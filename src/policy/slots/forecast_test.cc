// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/forecast.h"

#include <gtest/gtest.h>

#include "kube/ours/reasons.h"
#include "policy/slots/slots_for_test.h"

namespace berth::slots {
namespace {

using Mode = Demand::Mode;

Key key(const std::string& name) { return {"default", name}; }

// A scene and what its jobs have taken so far, in seconds.
struct Foreseen {
  TestbedScene scene;
  ForecastInput in = {};

  explicit Foreseen(int nodes = 3, int per_node = 2) : scene(nodes, per_node) {}

  Foreseen& job(const std::string& name, std::vector<int> seconds = {}) {
    if (scene.jobs.count(key(name)) == 0) scene.job(name, "");
    Samples& samples = in.samples[key(name)];
    for (const int each : seconds)
      samples.runs.push_back({.width = 1, .startup = 0s, .length = std::chrono::seconds(each)});
    return *this;
  }
  Forecast see(std::vector<Demand> by_ticket) {
    in.table = scene.table();
    in.ledger = scene.ledger;
    in.jobs = scene.jobs;
    in.quotas = scene.quotas;
    in.by_ticket = std::move(by_ticket);
    return forecast(in, 1, 20);
  }
};

// "A{0,2}@0-10 B{1}@10-": slots, begin and end in seconds of the typical play.
std::string text_of(const Forecast& told) {
  std::string text;
  for (const RunForecast& run : told.runs) {
    std::string slots;
    for (const SlotNumber slot : run.slots)
      slots += fmt::format("{}{}", slots.empty() ? "" : ",", slot);
    const auto seconds = [](std::optional<Duration> at) {
      return at ? std::to_string(std::chrono::duration_cast<std::chrono::seconds>(*at).count())
                : std::string();
    };
    text += fmt::format("{}{}{{{}}}@{}-{}", text.empty() ? "" : " ", run.job.name, slots,
                        seconds(run.begin), seconds(run.finish));
  }
  return text;
}

TEST(Forecast, P_02_AQueueIsPlayedToItsEnd) {
  Foreseen it(1, 2);
  it.job("A", {10}).job("B", {20}).job("C", {5});
  const Forecast told = it.see({queue_of("ABCC")});
  EXPECT_EQ(text_of(told), "A{0}@0-10 B{1}@0-20 C{0,1}@20-25");
  EXPECT_TRUE(told.certain());
  EXPECT_TRUE(told.never.empty());
  ASSERT_TRUE(told.runs[2].waits);
  EXPECT_EQ(told.runs[2].waits->reason, kube::reason::kWaitingForCapacity);
  EXPECT_EQ(told.runs[2].after, std::set<Key>{key("B")});
  EXPECT_FALSE(told.runs[0].waits);
}

TEST(Forecast, P_02_TheTypicalPlayTakesMediansAndTheDrawsSayHowSureThatIs) {
  Foreseen it(1, 1);
  it.job("A", {30, 10, 20}).job("B", {7});
  const Forecast told = it.see({queue_of("AB")});
  EXPECT_EQ(text_of(told), "A{0}@0-20 B{0}@20-27");
  ASSERT_TRUE(told.runs[1].start);
  EXPECT_EQ(told.runs[1].start->p10, 10s);
  EXPECT_EQ(told.runs[1].start->p90, 30s);
  EXPECT_EQ(told.runs[0].samples, 3U);
  EXPECT_TRUE(told.certain()) << "one slot has one order";
}

TEST(Forecast, P_02_AnOrderThatDependsOnDurationsIsNotCertain) {
  Foreseen it(1, 2);
  it.in.exclusive = false;
  it.job("A", {10, 30}).job("B", {20}).job("C", {1}).job("D", {1});
  const Forecast told = it.see({slots_of(Mode::kRelaxed, {{"A", {0}}, {"B", {1}}}, "s"),
                                slots_of(Mode::kRelaxed, {{"C", {0}}, {"D", {1}}}, "t")});
  EXPECT_FALSE(told.certain());
  EXPECT_GT(told.order_share, 0);
}

TEST(Forecast, P_02_WithoutAHistoryTheEndIsOpenAndWhatIsBehindWaits) {
  Foreseen it(1, 1);
  it.job("A").job("B", {7});
  const Forecast told = it.see({queue_of("AB")});
  EXPECT_EQ(text_of(told), "A{0}@0-");
  EXPECT_TRUE(told.runs[0].open_end);
  ASSERT_EQ(told.never.size(), 1U);
  EXPECT_EQ(told.never[0].job, key("B"));
  EXPECT_EQ(told.never[0].reason, kube::reason::kWaitingForCapacity);
}

TEST(Forecast, P_02_AnEstimateStandsInForAHistory) {
  Foreseen it(1, 1);
  it.job("A").job("B", {7});
  it.in.samples[key("A")].estimated = 100s;
  EXPECT_EQ(text_of(it.see({queue_of("AB")})), "A{0}@0-100 B{0}@100-107");
}

TEST(Forecast, P_02_WhatRunsEndsByWhatItsLongerRunsHaveTaken) {
  Foreseen it(1, 1);
  it.job("A", {10, 40, 60}).job("B", {5});
  const GrantId grant = it.scene.grant("A", {0}, true, "r");
  it.in.ages[grant] = 30s;
  Demand running = queue_of("A", "r");
  running.progress[key("A")] = {.used = 1, .last_run = 1};
  const Forecast told = it.see({running, queue_of("B", "s")});
  ASSERT_EQ(told.held.size(), 1U);
  EXPECT_EQ(told.held[0].finish, 10s);
  EXPECT_EQ(told.held[0].end->p90, 30s);
  EXPECT_EQ(text_of(told), "B{0}@10-15");
  EXPECT_EQ(told.runs[0].waits->reason, kube::reason::kTestbedHeld);
  EXPECT_TRUE(told.overdue.empty());
  it.in.ages[grant] = 61s;
  EXPECT_EQ(it.see({running, queue_of("B", "s")}).overdue, std::set<Key>{key("A")});
}

// Whoever is not first for all it wants starts nothing, as the rule of claims has it.
TEST(Forecast, P_02_OnASharedTestbedWhoWantsAHeldJobStartsNothingBeforeItHasIt) {
  Foreseen it(2, 2);
  it.in.exclusive = false;
  it.job("A", {10}).job("B", {5}).job("C", {5});
  const Forecast told = it.see({queue_of("A", "s"), queue_of("BA", "t"), queue_of("C", "u")});
  EXPECT_EQ(text_of(told), "A{0}@0-10 C{1}@0-5 B{0}@10-15 A{1}@10-20");
}

TEST(Forecast, P_02_AnAcquiredOneRunsWhatStandsBeforeABlockedEntry) {
  Foreseen it(2, 2);
  it.in.exclusive = false;
  it.job("A", {10}).job("B", {5});
  it.in.acquired = {key("t")};
  const Forecast told = it.see({queue_of("A", "s"), queue_of("BA", "t")});
  EXPECT_EQ(told.runs[1].job, key("B"));
  EXPECT_EQ(told.runs[1].begin, 0s);
}

TEST(Forecast, P_02_WhatOthersKeepOrWhatIsStoppedIsSaid) {
  Foreseen it(1, 2);
  it.job("A", {10}).job("B", {5});
  it.in.kept[key("s")][key("A")] = "BatchJob default/A is held by default/elsewhere";
  Forecast told = it.see({queue_of("A", "s")});
  EXPECT_TRUE(told.runs.empty());
  ASSERT_EQ(told.never.size(), 1U);
  EXPECT_EQ(told.never[0].reason, kube::reason::kJobHeld);
  it.in.kept.clear();
  it.in.stopped[key("s")] = {key("s"), key("A"), kube::reason::kJobFailed, "it has failed"};
  told = it.see({queue_of("A", "s"), queue_of("B", "t")});
  EXPECT_TRUE(told.runs.empty()) << "the first keeps the Testbed";
  ASSERT_EQ(told.never.size(), 2U);
  EXPECT_EQ(told.never[0].reason, kube::reason::kJobFailed);
  EXPECT_EQ(told.never[1].reason, kube::reason::kTestbedHeld);
}

TEST(Forecast, P_02_SlotsWhoseGhostIsOnItsWayAreCountedAndBrokenOnesAreNot) {
  Foreseen it(2, 1);
  it.scene.no_ghost(0);
  it.scene.facts["n1"].ready = false;
  it.job("A", {10}).job("B", {5});
  EXPECT_EQ(text_of(it.see({queue_of("AB")})), "A{0}@0-10 B{0}@10-15");
}

}  // namespace
}  // namespace berth::slots
