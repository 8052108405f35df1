// SPDX-License-Identifier: Apache-2.0
#include "simulate/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"

namespace berth::simulate {
namespace {

using ::testing::HasSubstr;

Scenario scenario() {
  Scenario scenario{.trace = {}, .programs = {}};
  scenario.nodes = 2;
  scenario.length = 24h;
  scenario.grace_seconds = 10;
  return scenario;
}
Outcome outcome(Variant setup, double lost, Duration p99) {
  Outcome outcome{.setup = setup};
  outcome.lost_core_hours = lost;
  outcome.held_core_hours = setup == Variant::kNone ? 0 : 200;
  outcome.useful_core_hours = 150;
  outcome.wait_p99 = p99;
  outcome.interruptions = 6;
  outcome.started = 4;
  outcome.lost_over_time = {lost / 2, lost};
  outcome.utilisation_over_time = {0.5, 0.6};
  return outcome;
}

TEST(Report, SaysHowMuchLessIsLostAndWhetherTheBoundIsMet) {
  const std::vector<Outcome> outcomes{outcome(Variant::kNone, 0, 1s),
                                      outcome(Variant::kStock, 40, 9s),
                                      outcome(Variant::kOwn, 10, 12s)};
  const Verdict verdict = verdict_of(scenario(), outcomes);
  EXPECT_DOUBLE_EQ(verdict.saved.value_or(0), 0.75);
  EXPECT_EQ(verdict.longer_wait, 11s);
  EXPECT_TRUE(verdict.within_bound);
  const std::string text = table(scenario(), outcomes);
  EXPECT_THAT(text, HasSubstr("Berth loses 75 % less work than the stock order."));
  EXPECT_THAT(text, HasSubstr("wait at most 11.0 s longer (p99); the bound is 12 s: met."));
  EXPECT_THAT(text, HasSubstr("goodput                                     -            75.0 %"));
  EXPECT_THAT(text, HasSubstr("1.50")) << "interruptions a job";
}

TEST(Report, F23_APromiseIsKeptWhereEnoughIsSavedAndNobodyWaitsTooLong) {
  const auto kept = [](double stock, double own, Duration wait) {
    return verdict_of(scenario(), std::vector<Outcome>{outcome(Variant::kNone, 0, 1s),
                                                       outcome(Variant::kStock, stock, 9s),
                                                       outcome(Variant::kOwn, own, wait)})
        .kept();
  };
  EXPECT_TRUE(kept(40, 28, 13s));
  EXPECT_FALSE(kept(40, 29, 13s)) << "27.5 % less";
  EXPECT_FALSE(kept(40, 10, 14s)) << "13 s longer";
  EXPECT_FALSE(kept(0, 0, 1s)) << "nothing was there to save";
}

TEST(Report, SaysThatTheBoundIsMissed) {
  const std::vector<Outcome> outcomes{outcome(Variant::kNone, 0, 1s),
                                      outcome(Variant::kStock, 40, 14s)};
  EXPECT_FALSE(verdict_of(scenario(), outcomes).within_bound);
  EXPECT_THAT(table(scenario(), outcomes), HasSubstr("MISSED"));
}

TEST(Report, ClaimsNothingAboutWhatWasNotRun) {
  const std::vector<Outcome> outcomes{outcome(Variant::kOwn, 10, 12s)};
  const Verdict verdict = verdict_of(scenario(), outcomes);
  EXPECT_FALSE(verdict.saved);
  EXPECT_FALSE(verdict.longer_wait);
  EXPECT_THAT(table(scenario(), outcomes), Not(HasSubstr("less work")));
}

TEST(Report, PoolsSeveralLivesAndTellsThemApart) {
  const auto lives = [](Variant setup, std::vector<double> losses) {
    std::vector<Outcome> all;
    for (const double lost : losses) {
      Outcome& one = all.emplace_back(outcome(setup, lost, 0s));
      one.waits = {0s, Duration(static_cast<Duration::rep>(lost * 1e9))};
      one.ordinary_pods = 2;
      one.utilisation = lost / 100;
    }
    return pooled(all);
  };
  const Outcome stock = lives(Variant::kStock, {40, 10});
  EXPECT_DOUBLE_EQ(stock.lost_core_hours, 50);
  EXPECT_DOUBLE_EQ(stock.utilisation, 0.25) << "a mean";
  EXPECT_EQ(stock.ordinary_pods, 4u);
  EXPECT_EQ(stock.wait_most, 40s);
  EXPECT_EQ(stock.wait_p50, 0s);
  EXPECT_EQ(stock.lost_over_time, (std::vector<double>{12.5, 25}));
  const std::vector<Outcome> outcomes{stock, lives(Variant::kExtender, {40, 15}),
                                      lives(Variant::kOwn, {10, 11}),
                                      lives(Variant::kPacked, {2, 3})};
  const std::string text = table(scenario(), outcomes);
  EXPECT_THAT(text, HasSubstr("1.0 days of virtual time 2 times over, 4 ordinary pods"));
  EXPECT_THAT(text, HasSubstr("Berth loses 58 % less work than the stock order."));
  EXPECT_THAT(text, HasSubstr("The extender loses 10 % more work than the stock order."));
  EXPECT_THAT(text, HasSubstr("Berth, packing scavengers, loses 90 % less work than the stock"));
  EXPECT_THAT(text, HasSubstr("Berth, life by life: 75 % -10 % less."));
  const std::string json = json_report(scenario(), outcomes);
  EXPECT_THAT(json, HasSubstr(R"("lostWorkSavedByPacking":0.9)"));
}

TEST(Report, IsJsonForPrograms) {
  const std::vector<Outcome> outcomes{outcome(Variant::kStock, 40, 9s),
                                      outcome(Variant::kOwn, 10, 12s)};
  const std::string text = json_report(scenario(), outcomes);
  const json::Slice report(text);
  EXPECT_EQ(report["setups"].size(), 2u);
  EXPECT_EQ(report["setups"][std::size_t{1}]["setup"].text(), "own");
  EXPECT_EQ(report["setups"][std::size_t{1}]["lostCoreHours"].raw(), "10");
  EXPECT_EQ(report["lostWorkSaved"].raw(), "0.75");
}

TEST(Report, DrawsACurveASetup) {
  const std::vector<Outcome> outcomes{outcome(Variant::kNone, 0, 1s),
                                      outcome(Variant::kStock, 40, 9s)};
  const std::string svg = plot(scenario(), outcomes);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  std::size_t curves = 0;
  for (std::size_t i = svg.find("<polyline"); i != svg.npos; i = svg.find("<polyline", i + 1))
    ++curves;
  EXPECT_EQ(curves, 4u) << "lost work and utilisation of each";
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace berth::simulate
