// SPDX-License-Identifier: Apache-2.0
#include "client/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"

namespace berth::client {
namespace {

using testing::ElementsAre;

class RateLimiterTest : public testing::Test {
 protected:
  ~RateLimiterTest() override {
    scope.close(0s, [] {});
    world.run_until_idle(1h);
  }
  void ask(RateLimiter& limiter, Urgency urgency, std::string name, Instant give_up = {kNoLimit}) {
    limiter.acquire(urgency, give_up, scope.done<Ok>(kNoLimit, [this, name](Result<Ok> r) {
      const auto at = lane.clock().now().since_start / 1ms;
      seen.push_back(fmt::format("{}@{}{}", name, at, r ? "" : " " + r.error().message));
    }));
  }

  World world{1};
  Executor& lane = world.loop("client");
  Scope scope{lane, "test"};
  std::vector<std::string> seen;
};

TEST_F(RateLimiterTest, LetsABurstThroughAndThenKeepsTheRate) {
  RateLimiter limiter(scope, {.qps = 10, .burst = 3});
  for (int i = 0; i < 6; ++i) ask(limiter, Urgency::kStatus, std::to_string(i));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(seen, ElementsAre("0@0", "1@0", "2@0", "3@100", "4@200", "5@300"));
}

TEST_F(RateLimiterTest, TheBurstComesBackWhileNothingIsSent) {
  RateLimiter limiter(scope, {.qps = 10, .burst = 2});
  ask(limiter, Urgency::kStatus, "a");
  ask(limiter, Urgency::kStatus, "b");
  world.run_for(10s);
  for (const char* name : {"c", "d", "e"}) ask(limiter, Urgency::kStatus, name);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(seen, ElementsAre("a@0", "b@0", "c@10000", "d@10000", "e@10100"));
}

TEST_F(RateLimiterTest, BindsGoBeforeStatusBeforeEvents) {
  RateLimiter limiter(scope, {.qps = 10, .burst = 1});
  ask(limiter, Urgency::kEvent, "event1");
  ask(limiter, Urgency::kEvent, "event2");
  ask(limiter, Urgency::kStatus, "status1");
  ask(limiter, Urgency::kBind, "bind1");
  ask(limiter, Urgency::kStatus, "status2");
  ask(limiter, Urgency::kBind, "bind2");
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(seen, ElementsAre("event1@0", "bind1@100", "bind2@200", "status1@300", "status2@400",
                                "event2@500"));
}

TEST_F(RateLimiterTest, RefusesWhatDoesNotFitTheQueue) {
  RateLimiter limiter(scope, {.qps = 1, .burst = 1, .queue = 2});
  for (const char* name : {"a", "b", "c", "d"}) ask(limiter, Urgency::kEvent, name);
  EXPECT_EQ(limiter.waiting(), 2u);
  world.run_for(1ms);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1], testing::HasSubstr("d@0 too many requests wait"));
  EXPECT_TRUE(world.run_until_idle(1h));
}

TEST_F(RateLimiterTest, SpendsNoTokenOnWhoGaveUp) {
  RateLimiter limiter(scope, {.qps = 1, .burst = 1});
  ask(limiter, Urgency::kStatus, "a");
  ask(limiter, Urgency::kStatus, "late", {500ms});
  ask(limiter, Urgency::kStatus, "b");
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(seen, ElementsAre("a@0", testing::StartsWith("late@1000 waited too long"), "b@1000"));
}

}  // namespace
}  // namespace berth::client
