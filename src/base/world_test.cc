// SPDX-License-Identifier: Apache-2.0
#include "base/world.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scope.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A component that runs a function given by the test.
class Scripted final : public Component {
 public:
  explicit Scripted(Env& env) : env_(env), scope_(env.runtime.loop("main"), env.name) {}
  Env& env() { return env_; }
  Scope& scope() { return scope_; }

 private:
  Env& env_;
  Scope scope_;
};

class WorldTest : public testing::Test {
 protected:
  auto record(std::string what) {
    return [this, what] { say(what); };
  }
  void say(const std::string& what) {
    story.push_back(fmt::format("{}s {}", world.clock().now().since_start / 1s, what));
  }
  Process& spawn(const std::string& name, Fn<void(Scripted&)> script) {
    return world.spawn(name, [script = std::move(script)](Env& env) mutable {
      auto component = std::make_unique<Scripted>(env);
      script(*component);
      return component;
    });
  }

  World world{7};
  std::vector<std::string> story;
};

TEST_F(WorldTest, TasksAndTimersRunByTimeThenSequence) {
  Executor& a = world.loop("a");
  Executor& b = world.loop("b");
  a.at(Instant{2s}, record("a at 2"));
  b.at(Instant{1s}, record("b at 1"));
  a.at(Instant{1s}, [&] {
    say("a at 1");
    b.post(record("b posted"));
  });
  b.at(Instant{1s}, record("b at 1 too"));
  a.post(record("a first"));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("0s a first", "1s b at 1", "1s a at 1", "1s b at 1 too",
                                 "1s b posted", "2s a at 2"));
}

TEST_F(WorldTest, IdleMeansNoTaskAndNoWorkTimer) {
  Executor& a = world.loop("a");
  Fn<void()> renew;
  renew = [&] {
    say("renew");
    a.at(
        a.clock().now() + 10s, [&] { renew(); }, Timer::kBackground);
  };
  a.at(
      Instant{10s}, [&] { renew(); }, Timer::kBackground);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, IsEmpty());
  a.at(Instant{25s}, record("work"));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("10s renew", "20s renew", "25s work"));
}

TEST_F(WorldTest, AHorizonEndsARunThatIsNotIdle) {
  world.loop("a").at(Instant{1h}, record("work"));
  EXPECT_FALSE(world.run_until_idle(10min));
  EXPECT_EQ(world.clock().now(), Instant{10min});
  EXPECT_TRUE(world.run_until_idle(50min));
  EXPECT_THAT(story, ElementsAre("3600s work"));
}

TEST_F(WorldTest, RunForTakesExactlySoLongAndRunsBackgroundTimers) {
  world.loop("a").at(Instant{5s}, record("renew"), Timer::kBackground);
  world.loop("a").at(Instant{20s}, record("later"));
  world.run_for(15s);
  EXPECT_EQ(world.clock().now(), Instant{15s});
  EXPECT_THAT(story, ElementsAre("5s renew"));
}

TEST_F(WorldTest, ATimerThatIsNeverDueKeepsNobodyBusy) {
  world.loop("a").at(Instant{kNoLimit}, record("never"));
  EXPECT_TRUE(world.run_until_idle(kNoLimit));
  EXPECT_FALSE(world.step());
}

TEST_F(WorldTest, ATimerCanBeCancelledAtTheInstantItIsDue) {
  Executor& a = world.loop("a");
  TimerId second = TimerId::kNone;
  a.at(Instant{1s}, [&] { EXPECT_TRUE(a.cancel(second)); });
  second = a.at(Instant{1s}, record("second"));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_FALSE(a.cancel(second));
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(WorldTest, OnlyTheRunningLaneIsHere) {
  Executor& a = world.loop("a");
  Executor& b = world.loop("b");
  EXPECT_EQ(&world.loop("a"), &a);
  a.post([&] {
    EXPECT_TRUE(a.here());
    EXPECT_FALSE(b.here());
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_TRUE(b.here());
}

TEST_F(WorldTest, ABusyTaskKeepsItsLaneOccupiedAndNoOther) {
  Executor& a = world.loop("a");
  Executor& b = world.loop("b");
  a.post([&] {
    say("slow");
    world.busy(3s);
    world.busy(2s);
  });
  a.post(record("waits"));
  a.at(Instant{1s}, record("overdue"));
  b.at(Instant{1s}, record("b goes on"));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("0s slow", "1s b goes on", "5s waits", "5s overdue"));
}

TEST_F(WorldTest, OffloadedWorkComesBackToItsCaller) {
  Executor& a = world.loop("a");
  a.post([&] {
    world.offload(a, record("work"), [&] {
      EXPECT_TRUE(a.here());
      say("then");
    });
    say("asked");
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("0s asked", "0s work", "0s then"));
}

TEST(WorldOrder, ShufflingKeepsEachLaneInOrderAndVariesTheRestBySeed) {
  std::set<std::string> histories;
  for (Seed seed = 0; seed < 20; ++seed) {
    const auto run = [&] {
      World world(seed, Order::kShuffled);
      std::string history;
      for (const char* role : {"a", "b", "c"})
        for (int i = 0; i < 3; ++i)
          world.loop(role).post([&history, role, i] { history += role + std::to_string(i); });
      EXPECT_TRUE(world.run_until_idle(1h));
      return history;
    };
    const std::string history = run();
    EXPECT_EQ(run(), history) << "seed " << seed;
    for (const std::string lane : {"a", "b", "c"}) {
      EXPECT_LT(history.find(lane + "0"), history.find(lane + "1")) << history;
      EXPECT_LT(history.find(lane + "1"), history.find(lane + "2")) << history;
    }
    histories.insert(history);
  }
  EXPECT_GT(histories.size(), 15u);
}

TEST_F(WorldTest, AKillDropsTasksAndTimersUnrunAndItsScopeDoesNotCheck) {
  Process& process = spawn("p", [&](Scripted& c) {
    c.scope().post(record("task"));
    c.scope().after(1s, record("timer"));
    c.env().runtime.loop("other").post(record("other lane"));
  });
  Executor& lane = process.loop("main");
  world.kill(process);
  EXPECT_FALSE(process.alive());
  EXPECT_EQ(process.component(), nullptr);
  EXPECT_TRUE(lane.dead());
  lane.post(record("posted to the dead"));
  EXPECT_EQ(lane.at(Instant{1s}, record("armed by the dead")), TimerId::kNone);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_EQ(world.clock().now(), Instant{});
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(WorldTest, WhatADestructorStartsInADyingProcessNeverRuns) {
  class Unruly final : public Component {
   public:
    Unruly(Env& env, Task effect) : env_(env), effect_(std::move(effect)) {}
    ~Unruly() override { env_.runtime.loop("made too late").post(std::move(effect_)); }

   private:
    Env& env_;
    Task effect_;
  };
  Process& process =
      world.spawn("p", [&](Env& env) { return std::make_unique<Unruly>(env, record("effect")); });
  world.kill(process);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(WorldTest, AKillInTheMiddleOfClosingEndsTheClosing) {
  Done<int> stuck;
  Process& process = spawn("p", [&](Scripted& c) {
    Scope& term = c.scope().child("term");
    stuck = term.done<int>(kNoLimit, [&](Result<int>) { say("answered"); });
    term.on_close(record("term ends"));
    c.scope().on_close(record("process ends"));
    c.scope().close(10s, record("closed"));
  });
  world.run_for(5s);
  world.kill(process);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("0s term ends"));
}

TEST_F(WorldTest, ADoneOfADeadProcessDoesNothingNotEvenToItsNextLife) {
  Done<int> done;
  Process& process = spawn("p", [&](Scripted& c) {
    if (!done) done = c.scope().done<int>(1min, [&](Result<int>) { say("answered"); });
  });
  world.restart(process);
  EXPECT_EQ(process.starts(), 2);
  done(1);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(WorldTest, ATaskThatKillsItsOwnProcessReturnsFirst) {
  Process* process = nullptr;
  process = &spawn("p", [&](Scripted& c) {
    c.scope().post([&] {
      world.kill(*process);
      EXPECT_FALSE(process->alive());
      EXPECT_NE(process->component(), nullptr);
      say("returns");
    });
    c.scope().post(record("next"));
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_EQ(process->component(), nullptr);
  EXPECT_THAT(story, ElementsAre("0s returns"));
}

TEST_F(WorldTest, EachLifeDrawsItsOwnChance) {
  std::vector<std::uint64_t> draws;
  Process& process = spawn("p", [&](Scripted& c) { draws.push_back(c.env().random.next()); });
  world.restart(process);
  spawn("q", [&](Scripted& c) { draws.push_back(c.env().random.next()); });
  EXPECT_EQ((std::set<std::uint64_t>(draws.begin(), draws.end()).size()), 3u);
}

TEST_F(WorldTest, AStoppedProcessWakesToOverdueTimers) {
  Process& process = spawn("p", [&](Scripted& c) {
    c.scope().after(2s, [&] {
      say(fmt::format("own clock {}s",
                      c.env().runtime.loop("main").clock().now().since_start / 1s));
    });
  });
  world.freeze(process, 10s);
  world.loop("outside").at(Instant{3s}, record("outside goes on"));
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("3s outside goes on", "10s own clock 10s"));
}

TEST_F(WorldTest, ASuspendedProcessNeverNoticesTheTimeItMissed) {
  Process& process = spawn("p", [&](Scripted& c) {
    c.scope().after(2s, [&] {
      say(fmt::format("own clock {}s",
                      c.env().runtime.loop("main").clock().now().since_start / 1s));
    });
  });
  world.run_for(1s);
  const WallTime before = process.clock().wall();
  world.freeze(process, 10s, Frozen::kSuspended);
  world.run_for(5s);
  EXPECT_EQ(process.clock().now(), Instant{1s});
  EXPECT_EQ(process.clock().wall(), before);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("12s own clock 2s"));
}

TEST_F(WorldTest, WallClocksJumpAndDriftPerProcessWhileTimersDoNot) {
  Process& process = spawn("p", [&](Scripted& c) { c.scope().after(100s, record("timer")); });
  process.jump_wall(-1h);
  process.set_wall_rate(1.01);
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("100s timer"));
  EXPECT_EQ(process.clock().wall() - world.clock().wall(), -1h + 1s);
  process.set_wall_rate(1);
  world.run_for(100s);
  EXPECT_EQ(process.clock().wall() - world.clock().wall(), -1h + 1s);
  EXPECT_EQ(world.clock().wall(), World::kNewYear2026 + 200s);
}

TEST_F(WorldTest, ProcessesLogUnderTheirNameAndClock) {
  StringSink sink;
  world.log_to(sink);
  spawn("p", [&](Scripted& c) {
    c.scope().after(90s, [&c] { c.env().log.info("renewed", {{"lease", "main"}}); });
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_EQ(sink.text(), "2026-01-01T00:01:30.000000Z info  renewed process=p lease=main\n");
}

TEST(WorldLog, TheHashDependsOnContentOrderAndTime) {
  const auto hash_of = [](std::vector<std::string> notes, Duration pause) {
    World world(1);
    for (const std::string& note : notes) {
      world.note(note);
      world.run_for(pause);
    }
    return world.log_hash();
  };
  EXPECT_EQ(hash_of({"a", "b"}, 1s), hash_of({"a", "b"}, 1s));
  EXPECT_NE(hash_of({"a", "b"}, 1s), hash_of({"b", "a"}, 1s));
  EXPECT_NE(hash_of({"a", "b"}, 1s), hash_of({"a", "b"}, 2s));
  EXPECT_NE(hash_of({"ab", ""}, 1s), hash_of({"a", "b"}, 1s));
}

FaultPlan plan_of(std::vector<FaultRule> rules) {
  Result<FaultPlan> plan = FaultPlan::make(std::move(rules));
  EXPECT_TRUE(plan) << plan.error().message;
  return *std::move(plan);
}

TEST_F(WorldTest, AProcessCrashesAtTheNthPassOfAPointAndComesBack) {
  world.plan(plan_of({{.point = "bind.sent", .process = "p", .hit = 2, .restart_after = 5s}}));
  Process& process = spawn("p", [&](Scripted& c) {
    for (int i = 0; i < 2; ++i)
      c.scope().after(1s, [&] {
        say("before");
        c.env().faults.point("bind.sent");
        say("after");
      });
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("1s before", "1s after", "1s before", "7s before", "7s after",
                                 "7s before", "7s after"));
  EXPECT_EQ(process.starts(), 2);
  EXPECT_EQ(world.faults().passed("bind.sent"), 4u);
}

TEST_F(WorldTest, ACrashUnwindsLocalsWithoutAnEffectOutside) {
  world.plan(plan_of({{.point = "half way", .hit = 1}}));
  Process& process = spawn("p", [&](Scripted& c) {
    c.scope().post([&] {
      const Done<int> local = c.scope().done<int>(1s, [&](Result<int>) { say("own callback"); });
      Scope term(c.env().runtime.loop("main"), "term");
      term.after(1s, record("own timer"));
      c.env().faults.point("half way");
      say("never");
    });
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_FALSE(process.alive());
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(WorldTest, AProcessMayCrashWhileItStarts) {
  world.plan(plan_of({{.point = "starting", .hit = 1, .restart_after = 1s}}));
  Process& process = spawn("p", [&](Scripted& c) {
    say("starts");
    c.env().faults.point("starting");
    say("started");
  });
  EXPECT_FALSE(process.alive());
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_TRUE(process.alive());
  EXPECT_THAT(story, ElementsAre("0s starts", "1s starts", "1s started"));
}

TEST_F(WorldTest, APlanCanSlowAPointDownOrFailIt) {
  world.plan(plan_of({{.point = "read", .hit = 1, .action = FaultAction::kDelay, .delay = 3s},
                      {.point = "write",
                       .hit = 1,
                       .action = FaultAction::kFail,
                       .error = {.reason = Reason::kInternalError, .message = "disk full"}}}));
  spawn("p", [&](Scripted& c) {
    c.scope().post([&] {
      c.env().faults.point("read");
      for (int i = 0; i < 2; ++i) {
        const std::optional<Error> failed = c.env().faults.failure("write");
        say(failed ? failed->message : "written");
      }
    });
    c.scope().post(record("next"));
  });
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_THAT(story, ElementsAre("0s disk full", "0s written", "3s next"));
}

TEST(Faults, WithoutAWorldNothingHappens) {
  Faults faults;
  faults.point("bind.sent");
  EXPECT_FALSE(faults.failure("bind.sent"));
}

TEST(FaultPlan, ARuleThatSaysNothingIsRefusedByItsPlace) {
  struct Row {
    const char* name;
    FaultRule rule;
    const char* message;
  };
  const Row rows[] = {
      {"no point", {.point = "", .hit = 1}, "fault 2 (): names no point"},
      {"no time", {.point = "x"}, "fault 2 (x): needs either a hit or a probability"},
      {"two times", {.point = "x", .hit = 1, .probability = 0.5}, "needs either a hit"},
      {"odds", {.point = "x", .probability = 1.5}, "needs a probability between 0 and 1"},
      {"no delay",
       {.point = "x", .hit = 1, .action = FaultAction::kDelay},
       "needs a delay above zero"},
  };
  for (const Row& row : rows) {
    const auto plan = FaultPlan::make({{.point = "fine", .hit = 1}, row.rule});
    ASSERT_FALSE(plan) << row.name;
    EXPECT_THAT(plan.error().message, HasSubstr(row.message)) << row.name;
  }
}

TEST(FaultPlan, ProbabilityIsDrawnBySeedAndProcessesAreToldApart) {
  FaultPlan plan = plan_of({{.point = "x", .process = "p", .probability = 0.3}});
  Random random(1);
  int hits = 0;
  for (int i = 0; i < 1000; ++i) hits += plan.pass("p", "x", random) != nullptr ? 1 : 0;
  EXPECT_NEAR(hits, 300, 60);
  EXPECT_EQ(plan.pass("q", "x", random), nullptr);
  EXPECT_EQ(plan.passed("x"), 1001u);
}

TEST(FaultPlan, ActionsReadBackFromTheirNames) {
  EXPECT_EQ(fault_action_named("crash"), FaultAction::kCrash);
  EXPECT_EQ(fault_action_named("delay"), FaultAction::kDelay);
  EXPECT_EQ(fault_action_named("fail"), FaultAction::kFail);
  EXPECT_EQ(fault_action_named("explode"), std::nullopt);
}

using WorldDeathTest = WorldTest;
TEST_F(WorldDeathTest, ALaneArmsNoTimerOnAnother) {
  EXPECT_DEATH(
      {
        world.loop("a").post([&] { world.loop("b").at(Instant{1s}, [] {}); });
        world.run_until_idle(1h);
      },
      "check failed: here");
}

}  // namespace
}  // namespace berth
