// SPDX-License-Identifier: Apache-2.0
#include "base/scope.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What happened, in order, each with the virtual second it happened at.
class ScopeTest : public testing::Test {
 protected:
  auto record(std::string what) {
    return [this, what] { say(what); };
  }
  Fn<void(Result<int>)> record_result(std::string what) {
    return [this, what](Result<int> r) {
      say(what + "=" + (r ? std::to_string(*r) : std::string(name_of(r.error().reason))));
    };
  }
  void say(const std::string& what) {
    story.push_back(fmt::format("{}s {}", world.clock().now().since_start / 1s, what));
  }
  void close(Scope& scope, Duration grace = 0s) {
    scope.close(grace, record("closed"));
    world.run_until_idle(1h);
  }

  World world{1};
  Executor& lane = world.loop("home");
  std::vector<std::string> story;
};

TEST_F(ScopeTest, ADoneDeliversItsValueOnceAndNeverInline) {
  Scope scope(lane, "root");
  Done<int> done = scope.done<int>(10s, record_result("call"));
  done(42);
  EXPECT_THAT(story, IsEmpty());
  EXPECT_FALSE(done);
  done(43);
  world.run_until_idle(1h);
  EXPECT_THAT(story, ElementsAre("0s call=42"));
  EXPECT_EQ(scope.pending(), 0u);
}

TEST_F(ScopeTest, ALateAnswerAfterTheTimeoutIsDropped) {
  Scope scope(lane, "root");
  Done<int> done = scope.done<int>(10s, record_result("call"));
  world.run_until_idle(1h);
  done(42);
  world.run_until_idle(1h);
  EXPECT_THAT(story, ElementsAre("10s call=Timeout"));
}

TEST_F(ScopeTest, ATimeoutSaysWhoWaitedForHowLongAndThatTheOutcomeIsUnknown) {
  Scope scope(lane, "scheduler");
  Error seen;
  const Done<int> done =
      scope.child("binds").done<int>(1500ms, [&](Result<int> r) { seen = r.error(); });
  world.run_until_idle(1h);
  EXPECT_EQ(seen.message, "scheduler/binds: no answer within 1.5 s");
  EXPECT_EQ(seen.outcome, Outcome::kUnknown);
  close(scope);
}

TEST_F(ScopeTest, ADroppedDoneDeliversCancelled) {
  Scope scope(lane, "root");
  { const Done<int> dropped = scope.done<int>(kNoLimit, record_result("dropped")); }
  Done<int> overwritten = scope.done<int>(kNoLimit, record_result("overwritten"));
  overwritten = Done<int>();
  world.run_until_idle(1h);
  EXPECT_THAT(story, ElementsAre("0s dropped=Cancelled", "0s overwritten=Cancelled"));
}

TEST_F(ScopeTest, AnAnswerInTimeLeavesNoTimerBehind) {
  Scope scope(lane, "root");
  scope.done<int>(1h, record_result("call"))(1);
  EXPECT_TRUE(world.run_until_idle(10s));
  EXPECT_EQ(world.clock().now(), Instant{});
}

TEST_F(ScopeTest, ClosingWaitsForPendingCallsUpToTheGrace) {
  Scope scope(lane, "root");
  Done<int> quick = scope.done<int>(kNoLimit, record_result("quick"));
  const Done<int> slow = scope.done<int>(kNoLimit, record_result("slow"));
  lane.at(Instant{2s}, [&] { quick(1); });
  close(scope, 5s);
  EXPECT_THAT(story, ElementsAre("2s quick=1", "5s slow=Cancelled", "5s closed"));
  EXPECT_THAT(scope.abandoned(), ElementsAre("root: 1 calls"));
}

TEST_F(ScopeTest, ClosingEndsEarlyWhenNothingIsLeft) {
  Scope scope(lane, "root");
  Done<int> quick = scope.done<int>(kNoLimit, record_result("quick"));
  lane.at(Instant{2s}, [&] { quick(1); });
  close(scope, kNoLimit);
  EXPECT_THAT(story, ElementsAre("2s quick=1", "2s closed"));
  EXPECT_THAT(scope.abandoned(), IsEmpty());
}

TEST_F(ScopeTest, ChildrenCloseFirstThenCloseTasksRunInReverse) {
  Scope scope(lane, "root");
  scope.on_close(record("release lease"));
  scope.on_close(record("stop intake"));
  Scope& child = scope.child("term");
  child.on_close(record("leave term"));
  child.child("call").on_close(record("end call"));
  close(scope, 5s);
  EXPECT_THAT(story, ElementsAre("0s end call", "0s leave term", "0s stop intake",
                                 "0s release lease", "0s closed"));
}

TEST_F(ScopeTest, ACloseTaskMayStillMakeACall) {
  Scope scope(lane, "root");
  scope.on_close([&] {
    say("releasing");
    lane.at(Instant{1s},
            [done = scope.done<int>(5s, record_result("released"))]() mutable { done(1); });
  });
  close(scope, 5s);
  EXPECT_THAT(story, ElementsAre("0s releasing", "1s released=1", "1s closed"));
}

TEST_F(ScopeTest, NothingRunsAfterClosed) {
  Scope scope(lane, "root");
  Done<int> late = scope.done<int>(kNoLimit, record_result("late"));
  scope.after(10s, record("timer"));
  close(scope);
  EXPECT_THAT(story, ElementsAre("0s late=Cancelled", "0s closed"));
  late(1);
  scope.post(record("posted"));
  EXPECT_EQ(scope.after(1s, record("timer")), TimerId::kNone);
  EXPECT_FALSE(scope.done<int>(1s, record_result("call")));
  world.run_until_idle(1h);
  EXPECT_EQ(story.size(), 2u);
}

TEST_F(ScopeTest, ACallbackThatAsksAgainWhileCancelledIsNotServed) {
  Scope scope(lane, "root");
  Done<int> again;
  const Done<int> first = scope.done<int>(kNoLimit, [&](Result<int>) {
    say("cancelled");
    again = scope.done<int>(kNoLimit, record_result("again"));
    scope.child("too late").post(record("child"));
  });
  close(scope);
  EXPECT_FALSE(again);
  EXPECT_THAT(story, ElementsAre("0s cancelled", "0s closed"));
}

TEST_F(ScopeTest, ClosingAgainCanOnlyShortenTheGrace) {
  Scope scope(lane, "root");
  const Done<int> stuck = scope.child("term").done<int>(kNoLimit, record_result("stuck"));
  scope.close(10s, record("first"));
  scope.close(3s, record("second"));
  scope.close(20s, record("third"));
  world.run_until_idle(1h);
  EXPECT_THAT(story, ElementsAre("3s stuck=Cancelled", "3s first", "3s second", "3s third"));
  scope.close(1s, record("fourth"));
  world.run_until_idle(1h);
  EXPECT_EQ(story.back(), "3s fourth");
}

TEST_F(ScopeTest, AChildIsGoneOnceItHasClosed) {
  Scope scope(lane, "root");
  Scope& child = scope.child("term");
  child.close(0s, [&] { say(std::string(child.name()) + " closed"); });
  world.run_until_idle(1h);
  EXPECT_THAT(story, ElementsAre("0s root/term closed"));
  EXPECT_FALSE(scope.closing());
}

TEST_F(ScopeTest, WhatAChildAbandonedIsToldToItsParent) {
  Scope scope(lane, "root");
  const Done<int> stuck = scope.child("term").done<int>(kNoLimit, record_result("stuck"));
  close(scope, 2s);
  EXPECT_THAT(scope.abandoned(), ElementsAre("root/term: 1 calls"));
}

TEST_F(ScopeTest, ACancelledTimerDoesNotFire) {
  Scope scope(lane, "root");
  const TimerId timer = scope.after(1s, record("timer"));
  const TimerId other = scope.after(1s, record("other"));
  EXPECT_TRUE(scope.cancel(timer));
  EXPECT_FALSE(scope.cancel(timer));
  world.run_until_idle(1h);
  EXPECT_FALSE(scope.cancel(other));
  EXPECT_THAT(story, ElementsAre("1s other"));
}

TEST_F(ScopeTest, TheCallbackIsDestroyedAtHomeEvenIfItsDoneLivesOn) {
  Scope scope(lane, "root");
  const auto held = std::make_shared<int>(1);
  const Done<int> done = scope.done<int>(1s, [held](const Result<int>&) {});
  EXPECT_EQ(held.use_count(), 2);
  world.run_until_idle(1h);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ScopeTest, AScopeThatIsEmptyMayGoWithoutClosing) { const Scope scope(lane, "root"); }

using ScopeDeathTest = ScopeTest;
TEST_F(ScopeDeathTest, AScopeThatGoesWithUnfinishedWorkIsABug) {
  EXPECT_DEATH(
      {
        Scope scope(lane, "forgotten");
        scope.after(1s, [] {});
      },
      "scope forgotten was destroyed before it closed");
}

}  // namespace
}  // namespace berth
