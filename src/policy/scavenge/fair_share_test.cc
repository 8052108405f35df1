// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/scavenge/admit_for_test.h"

namespace berth::scavenge {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr WallTime kStart{1'700'000'000'000'000'000};

FairShares begun() { return advance({}, {}, kStart, {}); }

TEST(FairShares, CountCoreHoursOfRunningJobs) {
  const FairShares shares =
      advance(begun(), {{"ann", 2000}, {"bob", 500}}, kStart + 1h, {.half_life = 0s});
  EXPECT_THAT(shares.core_hours,
              ElementsAre(Pair("ann", DoubleNear(2, 1e-9)), Pair("bob", DoubleNear(0.5, 1e-9))));
}

TEST(FairShares, HalfIsForgottenAfterAHalfLife) {
  FairShares shares = begun();
  shares.core_hours["ann"] = 8;
  EXPECT_NEAR(advance(shares, {}, kStart + 24h, {}).core_hours.at("ann"), 4, 1e-9);
  EXPECT_NEAR(advance(shares, {}, kStart + 72h, {}).core_hours.at("ann"), 1, 1e-9);
  EXPECT_THAT(advance(shares, {}, kStart + 24h * 30, {}).core_hours, IsEmpty());
}

TEST(FairShares, DoNotDependOnHowOftenTheyAreCounted) {
  const std::map<std::string, std::int64_t> running = {{"ann", 3000}};
  FairShares often = begun();
  often.core_hours["ann"] = 5;
  const FairShares once = advance(often, running, kStart + 36h, {});
  for (int minutes = 7; minutes < 36 * 60; minutes += 7)
    often = advance(often, running, kStart + std::chrono::minutes(minutes), {});
  often = advance(often, running, kStart + 36h, {});
  EXPECT_NEAR(often.core_hours.at("ann"), once.core_hours.at("ann"), 1e-6);
}

TEST(FairShares, BeginWithTheFirstLookAndNeverGoBack) {
  EXPECT_THAT(advance({}, {{"ann", 1'000'000}}, kStart, {}).core_hours, IsEmpty());
  FairShares shares = begun();
  shares.core_hours["ann"] = 8;
  const FairShares back = advance(shares, {{"ann", 1000}}, kStart - 5h, {});
  EXPECT_EQ(back.as_of, kStart);
  EXPECT_EQ(back.core_hours, shares.core_hours);
}

TEST(FairShares, AreDividedByTheWeight) {
  FairShares shares = begun();
  shares.core_hours = {{"ann", 8}, {"bob", 8}, {"eve", 8}};
  const auto weighed = by_weight(shares, {.weights = {{"bob", 4}, {"eve", -1}}});
  EXPECT_EQ(weighed.at("ann"), 8);
  EXPECT_EQ(weighed.at("bob"), 2);
  EXPECT_GT(weighed.at("eve"), 1e6);
}

// Ten times the demand, the same weight: half of what is scavenged. Jobs last an hour on average.
TEST(FairShares, F18_TwoUsersGetHalfEachWhateverTheyAskFor) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Random random(seed);
    struct Running {
      std::string user;
      WallTime end;
    };
    std::vector<Running> running;
    FairShares shares = begun();
    std::map<std::string, double> got;
    for (int minute = 0; minute < 72 * 60; minute += 15) {
      const WallTime now = kStart + std::chrono::minutes(minute);
      std::map<std::string, std::int64_t> rates;
      for (const Running& job : running) rates[job.user] += 1000;
      shares = advance(shares, rates, now, {});
      for (const auto& [user, rate] : rates) got[user] += static_cast<double>(rate);
      std::erase_if(running, [&](const Running& job) { return job.end <= now; });
      AdmitScene scene(1, "40");
      scene.rules().threshold_percent = 50;
      scene.rules().fair_shares = true;
      scene.question().shares = by_weight(shares, {});
      scene.used(0, std::to_string(running.size()));
      // Ann always has forty that wait, Bob four.
      for (int i = 0; i < 44; ++i) {
        scene.wait(fmt::format("{}-{:02}", i < 40 ? "ann" : "bob", i), "1");
        scene.question().waiting.back().user = i < 40 ? "ann" : "bob";
      }
      for (const std::string& uid : scene.starts())
        running.push_back(
            {uid.substr(0, 3),
             now + std::chrono::minutes(10 + static_cast<std::int64_t>(random.below(100)))});
    }
    const double ann = got["ann"] / (got["ann"] + got["bob"]);
    EXPECT_NEAR(ann, 0.5, 0.05) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::scavenge
