// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/history.h"

#include <gmock/gmock.h>

#include "json/slice.h"

namespace berth::gateway {
namespace {

constexpr WallTime kBegin{1'700'000'040'000'000'000};  // at the full minute

std::vector<double> column(const std::string& json, std::string_view name) {
  std::vector<double> all;
  for (const json::Slice one : json::Slice(json)[name].elements())
    all.push_back(one.number().value_or(-1));
  return all;
}
double total(const std::string& json, std::string_view name) {
  return json::Slice(json)["totals"][name].number().value_or(-1);
}

TEST(ScavengeHistory, AddsUpWhatRanByTheMinute) {
  ScavengeHistory history;
  history.level(kBegin,
                {.capacity = 100'000, .ordinary = 40'000, .scavengers = 20'000, .worth = 20'000});
  history.level(kBegin + 90s,
                {.capacity = 100'000, .ordinary = 60'000, .scavengers = 0, .worth = 0});
  history.look(kBegin + 3min);
  const std::string json = *history.json("1h", kBegin + 3min);
  const auto reclaimed = column(json, "reclaimed"), ordinary = column(json, "ordinary");
  ASSERT_EQ(reclaimed.size(), 60U);
  EXPECT_NEAR(reclaimed[56], 20.0 / 60, 1e-9);  // 20 cores for a minute
  EXPECT_NEAR(reclaimed[57], 10.0 / 60, 1e-9);
  EXPECT_NEAR(reclaimed[58], 0, 1e-9);
  EXPECT_NEAR(ordinary[56], 0.4, 1e-9);
  EXPECT_NEAR(ordinary[57], 0.5, 1e-9);
  EXPECT_NEAR(ordinary[55], -1, 1e-9) << "nobody looked";
  EXPECT_NEAR(total(json, "reclaimed"), 0.5, 1e-9);
  EXPECT_NEAR(total(*history.json("30d", kBegin + 3min), "reclaimed"), 0.5, 1e-9);
}

TEST(ScavengeHistory, TellsTheLossByStepAndCause) {
  ScavengeHistory history;
  history.level(kBegin, {.capacity = 1000});
  history.interrupted({kBegin + 20min, "a", "Preempted", 3'600'000});
  history.interrupted({kBegin + 10min, "b", "NodeLost", 7'200'000});
  history.interrupted({kBegin + 10min, "a", "NodeLost", 0});
  const std::string json = *history.json("24h", kBegin + 30min);
  EXPECT_NEAR(total(json, "lost"), 3, 1e-9);
  EXPECT_EQ(total(json, "interrupted"), 3);
  EXPECT_EQ(total(json, "jobs"), 2);
  const json::Slice causes = json::Slice(json)["causes"];
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[std::size_t{0}]["reason"].text(), "NodeLost");
  EXPECT_EQ(causes[std::size_t{0}]["jobs"].integer(), 2);
  EXPECT_EQ(total(*history.json("1h", kBegin + 2h), "interrupted"), 0);
}

TEST(ScavengeHistory, TellsHowFastRoomWasGivenBack) {
  ScavengeHistory history;
  EXPECT_THAT(*history.json("1h", kBegin), testing::Not(testing::HasSubstr("givenBack")));
  for (int i = 1; i <= 100; ++i) history.given_back(kBegin, i * 100ms);
  const std::string json = *history.json("1h", kBegin + 1s);
  EXPECT_EQ(json::Slice(json)["totals"]["givenBack"]["p50"].number(), 5100);
  EXPECT_EQ(json::Slice(json)["totals"]["givenBack"]["p99"].number(), 10'000);
}

TEST(ScavengeHistory, KnowsFromStatusesWhatRanBeforeItLooked) {
  ScavengeHistory history;
  history.level(kBegin, {.capacity = 1000});
  history.ran(kBegin - 2h, kBegin + 5min, 10'000);  // the five minutes are seen as they are
  EXPECT_NEAR(total(*history.json("24h", kBegin), "reclaimed"), 20, 1e-6);
  EXPECT_NEAR(total(*history.json("1h", kBegin), "reclaimed"), 10, 0.2);
}

TEST(ScavengeHistory, KeepsThirtyDaysAndNoMore) {
  ScavengeHistory history;
  history.level(kBegin, {.capacity = 1000, .scavengers = 1000, .worth = 1000});
  history.look(kBegin + 90 * 24h);
  EXPECT_NEAR(total(*history.json("30d", kBegin + 90 * 24h), "reclaimed"), 30 * 24, 7);
  history.ran(kBegin, kBegin + 1h, 1'000'000);  // long forgotten
  EXPECT_NEAR(total(*history.json("30d", kBegin + 90 * 24h), "reclaimed"), 30 * 24, 7);
}

TEST(ScavengeHistory, MovesOnceAMinuteAndWithEveryInterruption) {
  ScavengeHistory history;
  const auto before = history.version(kBegin + 10s);
  EXPECT_EQ(history.version(kBegin + 50s), before);
  EXPECT_NE(history.version(kBegin + 61s), before);
  history.interrupted({kBegin, "a", "Preempted", 1});
  EXPECT_NE(history.version(kBegin + 50s), before);
}

TEST(ScavengeHistory, ARangeItDoesNotKnowIsRefused) {
  const auto said = ScavengeHistory().json("2h", kBegin);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().reason, Reason::kBadRequest);
  EXPECT_THAT(said.error().message, testing::HasSubstr("24h"));
}

}  // namespace
}  // namespace berth::gateway
