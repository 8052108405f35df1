// SPDX-License-Identifier: Apache-2.0
// What the runtime promises to every controller, shown with small ones.
#include <gmock/gmock.h>

#include "json/writer.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using runtime::Controller;
using runtime::Plan;
using runtime::Spec;
using runtime::View;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string config_map(const std::string& name, const std::string& data = "") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"default"}},"data":{{{}}}}})",
      name, data);
}

// A controller made of a lambda.
class Toy final : public Controller {
 public:
  using Run = std::function<Plan(const View&, const Key&, WallTime)>;
  Toy(Spec spec, Run run) : spec_(std::move(spec)), run_(std::move(run)) {}
  Spec spec() const override { return spec_; }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    return run_(view, key, now);
  }

 private:
  Spec spec_;
  Run run_;
};
Controllers toy(Spec spec, Toy::Run run) {
  return [=] {
    std::vector<std::unique_ptr<Controller>> all;
    all.push_back(std::make_unique<Toy>(spec, run));
    return all;
  };
}

// Makes as many Secrets as a ConfigMap named "want" says. Their names differ from run to run, so
// one who does not see its own writes makes too many.
Controllers counting(int* runs = nullptr) {
  return toy(Spec("counting")
                 .reconciles(kube::kConfigMap)
                 .watches(kube::kSecret,
                          [](const View&, const runtime::Change&, std::vector<Key>& wake) {
                            wake.push_back({"default", "want"});
                          })
                 .creates(kube::kSecret)
                 .erases(kube::kSecret),
             [runs](const View& view, const Key& key, WallTime now) {
               if (runs != nullptr) ++*runs;
               const Object* want = view.get(kube::kConfigMap, key);
               if (want == nullptr) return Plan::done();
               const auto have = view.list(kube::kSecret);
               const auto count =
                   static_cast<std::size_t>(std::stoi(want->member("data")["count"].text()));
               Plan plan;
               for (std::size_t i = have.size(); i < count; ++i) {
                 const std::string name = fmt::format("s-{}-{}", now.unix_nanos, i);
                 plan.create(
                     kube::kSecret, {"default", name},
                     fmt::format(R"({{"metadata":{{"name":"{}","namespace":"default"}}}})", name));
               }
               for (std::size_t i = count; i < have.size(); ++i)
                 plan.erase(*have[i], kube::Propagation::kBackground, runtime::Pin::kUid);
               return plan;
             });
}

TEST(ControllerRuntime, SeesItsOwnWritesHoweverLateTheWatchIs) {
  int runs = 0;
  Lab lab({.controllers = counting(&runs), .faults = {.watch_lag = 1, .most_delay = 5s}});
  lab.create(config_map("want", R"("count":"5")"));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(5));
  EXPECT_EQ(lab.writes(), 5u) << "never one too many";
  lab.patch(kube::kConfigMap, {"default", "want"}, R"({"data":{"count":"2"}})");
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(2));
  EXPECT_EQ(lab.writes(), 8u);
  EXPECT_TRUE(lab.home().idle());
  EXPECT_EQ(lab.metric(R"(berth_controller_late_caches_total{controller="counting"})"), 0);
}

TEST(ControllerRuntime, WaitsForACacheThatIsLateAndCountsIt) {
  Lab lab({.controllers = counting()});
  lab.server.set(kube::kConfigMap, {"default", "want"}, R"("data":{"count":"3"})");
  while (lab.writes() == 0) ASSERT_TRUE(lab.world.step());
  lab.wire().set({.watch_silence = 1});  // whatever comes of secrets is not heard
  lab.run(30s);
  EXPECT_EQ(lab.metric(R"(berth_controller_late_caches_total{controller="counting"})"), 3);
  EXPECT_FALSE(lab.home().idle());
  lab.wire().set({});
  lab.run(10min);  // the silence is noticed and the watch opened again
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(3));
  EXPECT_EQ(lab.writes(), 3u);
}

TEST(ControllerRuntime, AWriteThatSomeoneElseOvertookIsPlannedAgain) {
  // Counts up to the number asked for, with the version it read as precondition.
  Lab lab({.controllers = toy(Spec("up").reconciles(kube::kConfigMap).patches(kube::kConfigMap),
                              [](const View& view, const Key& key, WallTime) {
                                const Object* map = view.get(kube::kConfigMap, key);
                                if (map == nullptr) return Plan::done();
                                const int n = std::stoi(map->member("data")["n"].text());
                                if (n >= 20) return Plan::done();
                                return Plan().patch(
                                    *map, fmt::format(R"({{"data":{{"n":"{}"}}}})", n + 1));
                              }),
           .faults = {.watch_lag = 0.5, .most_delay = 100ms}});
  lab.create(config_map("map", R"("n":"0")"));
  for (int i = 0; i < 30; ++i) {
    lab.patch(kube::kConfigMap, {"default", "map"},
              fmt::format(R"({{"data":{{"other":"{}"}}}})", i));
    lab.run(50ms);
  }
  lab.run(1min);
  const Object map = lab.get(kube::kConfigMap, {"default", "map"});
  EXPECT_EQ(map.member("data")["n"].text(), "20");
  EXPECT_EQ(map.member("data")["other"].text(), "29") << "nothing of the others' was undone";
  EXPECT_GT(lab.metric(R"(berth_controller_failed_plans_total{controller="up"})"), 0);
  EXPECT_TRUE(lab.home().idle());
}

TEST(ControllerRuntime, ThousandsOfKeysWithNothingToDoTakeOneTurnEach) {
  std::size_t looked_at = 0;
  // One change wakes them all; each inside of the one before would take the stack.
  constexpr std::size_t kKeys = 100'000;
  Lab lab({.controllers = toy(Spec("idle").reconciles(
                                  kube::kConfigMap,
                                  [](const View&, const runtime::Change&, std::vector<Key>& wake) {
                                    for (std::size_t i = 0; i < kKeys; ++i)
                                      wake.push_back({"default", std::to_string(i)});
                                  }),
                              [&looked_at](const View&, const Key&, WallTime) {
                                ++looked_at;
                                return Plan::done();
                              })});
  lab.create(config_map("map", R"("n":"0")"));
  lab.run(1min);
  EXPECT_GE(looked_at, kKeys);
  EXPECT_TRUE(lab.home().idle());
}

TEST(ControllerRuntime, ALostAnswerIsReadBackBeforeTheNextRun) {
  Lab lab({.controllers = counting(), .home = {.retry = {.call_limit = 1s}}});
  lab.wire().set({.lose_reply = 1});
  lab.create(config_map("want", R"("count":"3")"));
  lab.run(3s);
  lab.wire().set({});
  lab.run(5min);
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(3));
  EXPECT_TRUE(lab.home().idle());
}

TEST(ControllerRuntime, AFailureIsTriedAgainAndSeenByTheNextRun) {
  std::vector<std::string> seen;
  Lab lab(
      {.controllers = toy(
           Spec("failing").reconciles(kube::kConfigMap).creates(kube::kSecret).reads(kube::kSecret),
           [&seen](const View& view, const Key&, WallTime) {
             if (view.failed() != nullptr)
               seen.push_back(std::string(name_of(view.failed()->error.reason)));
             if (view.get(kube::kSecret, {"default", "s"}) != nullptr) return Plan::done();
             return Plan().create(kube::kSecret, {"default", "s"},
                                  R"({"metadata":{"name":"s","namespace":"default"}})");
           })});
  lab.server.refuse_writes(Reason::kForbidden);
  lab.server.set(kube::kConfigMap, {"default", "a"}, R"("data":{})");
  lab.run(1s);
  lab.server.refuse_writes(std::nullopt);
  EXPECT_GE(seen.size(), 4u);
  EXPECT_LE(seen.size(), 10u) << "each time twice as late";
  EXPECT_THAT(seen, testing::Each("Forbidden"));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("s"));
  EXPECT_TRUE(lab.home().idle());
  EXPECT_EQ(lab.home().runners()[0]->remembered(), 0u);
}

TEST(ControllerRuntime, TheFirstFailureEndsThePlan) {
  Lab lab({.controllers = toy(Spec("plan")
                                  .reconciles(kube::kConfigMap)
                                  .creates(kube::kSecret)
                                  .patches(kube::kConfigMap)
                                  .reads(kube::kSecret),
                              [](const View& view, const Key& key, WallTime) {
                                const Object* map = view.get(kube::kConfigMap, key);
                                if (map == nullptr || map->member("data")["done"].present())
                                  return Plan::done();
                                // The first one is there already, made by somebody else.
                                return Plan()
                                    .create(
                                        kube::kSecret, {"default", "taken"},
                                        R"({"metadata":{"name":"taken","namespace":"default"}})")
                                    .patch(*map, R"({"data":{"done":"yes"}})");
                              })});
  lab.create(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"taken","namespace":"default"}})");
  lab.create(config_map("a"));
  lab.run(1min);
  EXPECT_FALSE(lab.get(kube::kConfigMap, {"default", "a"}).member("data")["done"].present());
  lab.erase(kube::kSecret, {"default", "taken"});
  lab.run(10min);
  EXPECT_TRUE(lab.get(kube::kConfigMap, {"default", "a"}).member("data")["done"].present());
}

TEST(ControllerRuntime, CreatesStartSlowlyAndThenComeTogether) {
  std::vector<std::string> failed;
  Lab lab({.controllers =
               toy(Spec("many")
                       .reconciles(kube::kConfigMap)
                       .creates(kube::kSecret)
                       .erases(kube::kSecret)
                       .reads(kube::kSecret)
                       .tells(),
                   [&](const View& view, const Key& key, WallTime) {
                     Plan plan;
                     const Object* map = view.get(kube::kConfigMap, key);
                     if (view.failed() != nullptr) failed.push_back(text_of(view.failed()->action));
                     if (map == nullptr) {
                       for (const Object* secret : view.list(kube::kSecret)) plan.erase(*secret);
                       return plan;
                     }
                     for (int i = view.list(kube::kSecret).empty() ? 0 : 7; i < 7; ++i) {
                       const std::string name = fmt::format("s{}", i);
                       plan.create(
                           kube::kSecret, {"default", name},
                           fmt::format(R"({{"metadata":{{"name":"{}","namespace":"default"}}}})",
                                       name));
                       plan.event(*map, {.reason = "Made", .action = "Make", .note = name});
                     }
                     return plan;
                   }),
           .faults = {.delay = 1, .most_delay = 1s}});
  const auto writes_during = [&](auto what) {
    const std::uint64_t before = lab.writes();
    what();
    return lab.writes() - before;
  };
  lab.server.refuse_writes(Reason::kForbidden);
  EXPECT_EQ(writes_during([&] {
              lab.server.set(kube::kConfigMap, {"default", "a"}, R"("data":{})");
              while (failed.size() < 3) ASSERT_TRUE(lab.world.step());
            }),
            3u)
      << "one at a time is tried where it is refused";
  EXPECT_THAT(failed, testing::Each("create secrets default/s0"));
  lab.server.refuse_writes(std::nullopt);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(7));
  EXPECT_THAT(lab.events(), SizeIs(7)) << "each is told once";
  EXPECT_TRUE(lab.home().idle());
  lab.erase(kube::kConfigMap, {"default", "a"});
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
}

TEST(ControllerRuntime, AnswersComeBackOnceAsInput) {
  std::vector<std::string> heard;
  LabOptions options{
      .controllers = toy(
          Spec("asking").reconciles(kube::kConfigMap).asks(kube::kNode),
          [&heard](const View& view, const Key&, WallTime) {
            const auto* nodes = view.answer("nodes");
            const auto* power = view.answer("power");
            if (nodes == nullptr)
              return Plan()
                  .ask("nodes", kube::ApiRequest{.verb = kube::Verb::kList, .kind = kube::kNode})
                  .ask("power", std::string("how much?"));
            heard.push_back(fmt::format("{} nodes, {}", nodes->objects.size(), power->text));
            return Plan::done();
          }),
      .home = {.ask = [](const std::string& name, const std::string& question,
                         Done<std::string> done) { done(name + ": " + question); }}};
  Lab lab(std::move(options));
  lab.create(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})");
  lab.create(config_map("a"));
  lab.run();
  EXPECT_THAT(heard, ElementsAre("1 nodes, power: how much?"));
  EXPECT_EQ(lab.home().runners()[0]->remembered(), 0u);
}

TEST(ControllerRuntime, WhatAPlanRemembersComesBackUntilAPlanForgetsIt) {
  std::vector<std::string> seen;
  Lab lab({.controllers = toy(Spec("minding").reconciles(kube::kConfigMap),
                              [&seen](const View& view, const Key& key, WallTime) {
                                seen.emplace_back(view.remembered());
                                if (view.get(kube::kConfigMap, key) == nullptr) return Plan::done();
                                return Plan().remember(seen.back() + "x");
                              })});
  lab.create(config_map("a"));
  lab.run();
  ASSERT_TRUE(lab.patch(kube::kConfigMap, {"default", "a"}, R"({"data":{"b":"c"}})"));
  lab.run();
  EXPECT_EQ(lab.home().runners()[0]->remembered(), 1u);
  ASSERT_TRUE(lab.erase(kube::kConfigMap, {"default", "a"}));
  lab.run();
  EXPECT_THAT(seen, ElementsAre("", "x", "xx"));
  EXPECT_EQ(lab.home().runners()[0]->remembered(), 0u);
}

TEST(ControllerRuntime, ATimeThatHasPassedDoesNotTakeAllOfTime) {
  int runs = 0;
  Lab lab({.controllers = toy(Spec("hasty").reconciles(kube::kConfigMap),
                              [&runs](const View&, const Key&, WallTime now) {
                                ++runs;
                                return Plan().again_at(now);
                              })});
  lab.create(config_map("a"));
  lab.run(1s);
  EXPECT_GE(runs, 10);
  EXPECT_LE(runs, 12);
}

TEST(ControllerRuntime, EventsAreTold) {
  Lab lab({.controllers = toy(Spec("telling").reconciles(kube::kConfigMap).tells(),
                              [](const View& view, const Key& key, WallTime) {
                                return Plan().event(
                                    *view.get(kube::kConfigMap, key),
                                    {.reason = "Seen", .action = "Look", .note = "a map"});
                              })});
  lab.create(config_map("a"));
  lab.run();
  EXPECT_THAT(lab.events(), ElementsAre("Seen: a map"));
}

TEST(ControllerRuntime, AKindThatTheServerDoesNotHaveHoldsNobodyUp) {
  const KindId widget = kube::learn_kind({"example.com", "v1", "Widget", "widgets", true});
  const std::vector<KindId> kinds = {kube::kConfigMap, kube::kCustomResourceDefinition};
  std::vector<std::string> seen;
  Lab lab({.controllers = toy(Spec("patient")
                                  .reconciles(kube::kConfigMap)
                                  .watches_if_served(widget, runtime::same_name()),
                              [&](const View& view, const Key& key, WallTime) {
                                const bool there = view.get(widget, key) != nullptr;
                                seen.push_back(key.name + (there ? " with" : " without"));
                                return Plan::done();
                              }),
           .kinds = kinds});
  ASSERT_TRUE(lab.create(config_map("a")));
  lab.run(1min);
  EXPECT_THAT(seen, ElementsAre("a without"));

  const auto serve = [&](bool yes) {
    std::vector<KindId> now = kinds;
    if (yes) now.push_back(widget);
    lab.server.serve(now);
    if (yes)
      ASSERT_TRUE(lab.create(
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"}})"));
    else
      lab.erase(kube::kCustomResourceDefinition, {"", "widgets.example.com"});
    lab.run(1min);
  };
  const char* mine =
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default"}})";
  for (int round = 0; round < 2; ++round) {  // a kind may come back
    serve(true);
    ASSERT_TRUE(lab.create(mine));
    lab.run(1min);
    EXPECT_EQ(seen.back(), "a with");
    lab.erase(widget, {"default", "a"});
    lab.run(1min);
    EXPECT_EQ(seen.back(), "a without");
    serve(false);
  }
}

TEST(ControllerRuntimeDeathTest, WhatIsNotDeclaredIsNotWritten) {
  const auto undeclared = [] {
    Lab lab({.controllers = toy(Spec("sly").reconciles(kube::kConfigMap),
                                [](const View& view, const Key& key, WallTime) {
                                  return Plan().erase(*view.get(kube::kConfigMap, key));
                                })});
    lab.create(config_map("a"));
    lab.run();
  };
  EXPECT_DEATH(undeclared(), "sly does not declare: erase configmaps default/a");
}

TEST(ControllerRuntime, KeysRunSideBySideUpToTheLimit) {
  int most = 0;
  std::map<std::string, int> runs;
  Lab lab(
      {.controllers = toy(
           Spec("wide").reconciles(kube::kConfigMap).patches(kube::kConfigMap).keys_in_flight(4),
           [&](const View& view, const Key& key, WallTime) {
             const Object* map = view.get(kube::kConfigMap, key);
             if (map->member("data")["done"].present()) return Plan::done();
             ++runs[key.name];
             most = std::max(most, static_cast<int>(runs.size()));
             return Plan().patch(*map, R"({"data":{"done":"yes"}})");
           }),
       .faults = {.delay = 1, .most_delay = 2s}});
  for (int i = 0; i < 20; ++i) lab.create(config_map(fmt::format("m{}", i)));
  lab.world.run_for(Duration{});
  EXPECT_LE(most, 4);
  lab.run(5min);
  EXPECT_EQ(runs.size(), 20u);
  EXPECT_TRUE(lab.home().idle());
}

TEST(ControllerRuntime, OneOfSeveralProcessesLeadsAndAnotherTakesOver) {
  const auto options = [](const char* who) {
    runtime::HomeOptions home;
    home.election.emplace();
    home.election->name = "controllers";
    home.election->settings.identity = who;
    return home;
  };
  Lab lab({.controllers = counting(), .home = options("first")});
  Metrics metrics;
  StringSink log;
  Scope scope(lab.world.loop("second"), "second");
  client::LocalTransport wire(lab.world.loop("api"), lab.server, {});
  runtime::Home second(scope, wire, metrics, Logger(log, lab.world.clock()), Random(9),
                       counting()(), options("second"));
  lab.run(5s);
  second.start();
  lab.create(config_map("want", R"("count":"2")"));
  lab.run(1min);
  EXPECT_TRUE(lab.home().working());
  EXPECT_FALSE(second.working());
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(2));
  lab.stop();
  lab.run(1min);
  EXPECT_TRUE(second.working());
  lab.patch(kube::kConfigMap, {"default", "want"}, R"({"data":{"count":"4"}})");
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), SizeIs(4));
  bool closed = false;
  scope.close(5s, [&] { closed = true; });
  lab.run(10s);
  EXPECT_TRUE(closed);
}

TEST(ControllerRuntime, ClosesInGoodOrderWithPlansUnderWay) {
  Metrics metrics;
  StringSink log;
  Lab lab({.controllers = counting()});
  lab.stop();
  Scope scope(lab.world.loop("other"), "other");
  client::LocalTransport wire(lab.world.loop("api"), lab.server, {},
                              [] { return Duration(100ms); });
  runtime::Home home(scope, wire, metrics, Logger(log, lab.world.clock()), Random(9), counting()());
  home.start();
  lab.create(config_map("want", R"("count":"50")"));
  lab.run(2s);
  bool closed = false;
  scope.close(1s, [&] { closed = true; });
  lab.run(10s);
  EXPECT_TRUE(closed);
  const std::size_t made = lab.names(kube::kSecret).size();
  EXPECT_GT(made, 0u);
  lab.run(1min);
  EXPECT_EQ(lab.names(kube::kSecret).size(), made);
}

TEST(ControllerRuntimeCrashSweep, AControllerThatLooksBeforeItWritesEndsTheSame) {
  crash_sweep({counting(), [](Lab& lab) {
                 lab.create(config_map("want", R"("count":"4")"));
                 lab.run(30s);
                 lab.patch(kube::kConfigMap, {"default", "want"}, R"({"data":{"count":"1"}})");
                 lab.run(30s);
                 // Names are of the moment; what counts is how many.
                 for (const std::string& name : lab.names(kube::kSecret))
                   lab.server.remove(kube::kSecret, {"default", name});
               }});
}

// The sweep itself: it must find a controller whose second write depends on memory of the first.
TEST(ControllerRuntimeCrashSweep, FindsAControllerThatForgetsHalfOfItsWork) {
  const Scenario forgetful{
      toy(Spec("forgetful")
              .reconciles(kube::kConfigMap)
              .creates(kube::kSecret)
              .reads(kube::kSecret),
          [](const View& view, const Key&, WallTime) {
            if (view.get(kube::kSecret, {"default", "first"}) != nullptr) return Plan::done();
            Plan plan;
            for (const char* name : {"first", "second"})
              plan.create(
                  kube::kSecret, {"default", name},
                  fmt::format(R"({{"metadata":{{"name":"{}","namespace":"default"}}}})", name));
            return plan;
          }),
      [](Lab& lab) {
        lab.create(config_map("a"));
        lab.run(30s);
      }};
  int failed = 0;
  for (std::uint64_t write = 1; write <= 2; ++write)
    for (const Moment moment : {Moment::kBefore, Moment::kCommitted, Moment::kAnswered}) {
      Lab lab({.controllers = forgetful.controllers, .kill = {write, moment}});
      forgetful.play(lab);
      EXPECT_EQ(lab.starts(), 2);
      failed += lab.names(kube::kSecret).size() != 2 ? 1 : 0;
    }
  EXPECT_EQ(failed, 3) << "after the first was written, and before the second was";
}

}  // namespace
}  // namespace berth::controllers::stories
