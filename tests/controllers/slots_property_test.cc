// SPDX-License-Identifier: Apache-2.0
// Testbeds under many hands and many deaths: what must hold does, after every write. The large
// counts run nightly (BERTH_SLOTS=all); BERTH_SEED repeats one run.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "controllers/scheduling/progress.h"
#include "jobs_lab.h"
#include "slot_invariants.h"
#include "stock_scheduler.h"
#include "visitor.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;

bool large() { return std::getenv("BERTH_SLOTS") != nullptr; }
std::vector<Seed> seeds(std::size_t few, std::size_t many) {
  if (const char* one = std::getenv("BERTH_SEED")) return {std::stoull(one)};
  std::vector<Seed> all(large() ? many : few);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

std::string testbed_json(std::string_view name, std::string_view label) {
  return fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"slotsPerNode":2,"nodeLabel":"{}","sharing":"Shared","resourcesPerSlot":{{"cpu":"750m","memory":"6Gi"}}}}}})",
      name, label);
}
std::string entry(std::string_view job) {
  return fmt::format(R"({{"name":"{}","namespace":"default"}})", job);
}
std::string scheduling_json(std::string_view name, std::string_view testbed,
                            std::string_view strategy) {
  return fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"testbed":{{"name":"{}","namespace":"default"}},{}}}}})",
      name, testbed, strategy);
}

// Somebody who submits Schedulings one after another, and deletes the former one each time.
class Submitter {
 public:
  Submitter(Lab& lab, int number, int submissions, int testbeds, int jobs, Random random)
      : lab_(lab),
        number_(number),
        left_(submissions),
        testbeds_(testbeds),
        jobs_(jobs),
        random_(random) {
    next();
  }
  bool done() const { return left_ < 0; }

 private:
  void next() {
    Executor& loop = lab_.world.loop("api");
    loop.at(loop.clock().now() + std::chrono::milliseconds(random_.below(4000)), [this] {
      if (!former_.empty()) ask(kube::Verb::kDelete, former_, "");
      former_.clear();
      if (left_-- == 0) return;
      former_ = fmt::format("w{}-{}", number_, left_);
      ask(kube::Verb::kCreate, "", draft());
      next();
    });
  }
  std::string draft() {
    const auto testbed = random_.below(static_cast<std::uint64_t>(testbeds_));
    const auto job = [&] {
      return fmt::format("j{}", random_.below(static_cast<std::uint64_t>(jobs_)));
    };
    std::string strategy;
    if (random_.below(2) == 0) {
      std::string queue;
      for (std::uint64_t i = 0; i <= random_.below(4); ++i)
        queue += (i == 0 ? "" : ",") + entry(job());
      strategy = fmt::format(R"("queueBased":[{}])", queue);
    } else {
      const int one = static_cast<int>(random_.below(6)),
                other = static_cast<int>(random_.below(6));
      strategy =
          fmt::format(R"("slotBased":{{"mode":"{}","jobs":[{{"name":{},"slotIds":[{}]}}]}})",
                      random_.below(2) == 0 ? "strict" : "relaxed", entry(job()),
                      one == other ? fmt::format("{}", one) : fmt::format("{},{}", one, other));
    }
    return scheduling_json(former_, fmt::format("tb{}", testbed), strategy);
  }
  void ask(kube::Verb verb, std::string name, std::string body) {
    kube::ApiRequest request;
    request.verb = verb;
    request.kind = kinds().scheduling;
    request.ns = "default";
    request.name = std::move(name);
    request.body.bytes = std::make_shared<const std::string>(std::move(body));
    lab_.server.handle(std::move(request), {});
  }

  Lab& lab_;
  int number_, left_, testbeds_, jobs_;
  Random random_;
  std::string former_;
};

TEST(SlotsProperty, P_01_ManyWritersNeverGetASlotTwiceOrAPartOfWhatTheyAskedFor) {
  const int writers = large() ? 64 : 8, submissions = large() ? 1'000 : 8,
            testbeds = large() ? 8 : 2;
  for (const Seed seed : seeds(1, 1)) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Lab lab({.controllers = slot_controllers(), .seed = seed, .order = Order::kShuffled});
    SlotInvariants invariants(lab, SlotInvariants::Room::kIgnored);
    lab.life = [](const Object& pod) {
      PodLife life{.start = 200ms, .stop = 100ms};
      if (!pod.label(kube::kGrantLabel).empty()) life.run = 1s;
      return life;
    };
    for (int t = 0; t < testbeds; ++t) {
      for (int n = 0; n < 3; ++n) {
        const std::string name = fmt::format("n{}-{}", t, n);
        labelled_node(lab, name, std::to_string(n));
        ASSERT_TRUE(lab.patch(kube::kNode, {"", name},
                              fmt::format(R"({{"metadata":{{"labels":{{"t{}":"{}"}}}}}})", t, n)));
      }
      ASSERT_TRUE(lab.create(testbed_json(fmt::format("tb{}", t), fmt::format("t{}", t))));
    }
    const int jobs = writers;
    for (int j = 0; j < jobs; ++j)
      ASSERT_TRUE(lab.create(fmt::format(
          R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"j{}","namespace":"default"}},"spec":{{"jobSpec":{{}}}}}})",
          j)));
    lab.run(10s);
    std::vector<std::unique_ptr<Submitter>> all;
    for (int w = 0; w < writers; ++w)
      all.push_back(std::make_unique<Submitter>(lab, w, submissions, testbeds, jobs,
                                                Random(seed * 1'000 + static_cast<Seed>(w))));
    lab.run(std::chrono::seconds(4) * (submissions + 2));
    for (const auto& one : all) EXPECT_TRUE(one->done());
    lab.run(2min);
    EXPECT_THAT(invariants.wrongs(), IsEmpty());
    EXPECT_THAT(invariants.left_over(), IsEmpty());
    EXPECT_GT(invariants.grants(), static_cast<std::size_t>(writers * submissions / 10))
        << "writers who get nothing prove nothing";
  }
}

// Components that die: whoever holds Testbeds and grants, whoever runs jobs, whoever stands in for
// Spark.
LabOptions in_processes(Seed seed) {
  return {.controllers =
              only({"testbed-controller", "slot-allocator-controller", "scheduling-controller"}),
          .seed = seed,
          .order = Order::kShuffled,
          .kinds = kinds_with_applications(),
          .beside = {only({"batchjob-controller"}), only({"spark-stand-in"}),
                     only({"garbage-collector-controller"})}};
}

// A Testbed whose slots fill its nodes to the last, five jobs that are shared, and Schedulings.
class Stage {
 public:
  explicit Stage(LabOptions options, Door::Fault fault = Door::Fault::kNone,
                 Door::Way way = Door::Way::kOwn)
      : Stage(std::move(options), [&](Lab& of) { return std::make_unique<Door>(of, fault, way); }) {
  }
  Stage(LabOptions options, const std::function<std::unique_ptr<Door>(Lab&)>& make_door)
      : lab(std::move(options)), invariants(lab), door(make_door(lab)) {
    lab.life = &placed_by_the_door;
    for (int i = 0; i < 3; ++i)
      labelled_node(lab, fmt::format("n{}", i), std::to_string(i), "1500m");
    EXPECT_TRUE(lab.create(testbed_json("tb", "tuberlin.de/tb")));
    for (const char* job : {"a", "b", "c", "d", "e"})
      EXPECT_TRUE(lab.create(fmt::format(
          R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"sparkSpec":{{"driver":{{"annotations":{{"berth.dev/duration":"5s"}}}}}}}}}})",
          job)));
    lab.run(10s);
  }
  void submit(const std::string& name, std::string_view jobs) {
    std::string queue;
    for (const char job : jobs) queue += (queue.empty() ? "" : ",") + entry(std::string(1, job));
    EXPECT_TRUE(
        lab.create(scheduling_json(name, "tb", fmt::format(R"("queueBased":[{}])", queue))));
  }
  bool completed(const std::string& name) {
    const Object object = lab.get(kinds().scheduling, {"default", name});
    return object.valid() && kube::SchedulingView(object).completed();
  }
  void erase(const std::string& name) {
    EXPECT_TRUE(lab.erase(kinds().scheduling, {"default", name}));
  }
  // The runs of a job under a Scheduling that went well.
  std::size_t runs(const std::string& job, const std::string& scheduling) {
    std::size_t found = 0;
    const Object object = lab.get(kinds().batch_job, {"default", job});
    for (const json::Slice run : object.status()["scheduledEvents"].elements())
      found += run["scheduling"].equals(scheduling) && run["successful"].boolean() ? 1 : 0;
    return found;
  }

  Lab lab;
  SlotInvariants invariants;
  std::unique_ptr<Door> door;
};

// Who is killed, by chance. A client's informers wait for at most half a minute before they look
// whether the server is there again.
constexpr Duration kClientsReturn = 45s;
class Killer {
 public:
  Killer(Stage& stage, Random random) : stage_(stage), random_(random) {}
  // "": what was drawn is dead already.
  std::string kill() {
    const std::size_t processes = stage_.lab.processes();
    const std::size_t drawn = random_.below(processes + 3);
    if (drawn < processes) {
      stage_.lab.crash(drawn);
      return stage_.lab.process(drawn).name();
    }
    if (drawn == processes) {
      stage_.door->crash();
      return "scheduler";
    }
    if (stage_.lab.world.clock().now() < server_returns_) return "";
    using Server = faults::FakeServer;
    const auto ending = static_cast<Server::Ending>(random_.below(3));
    const Duration away = std::chrono::milliseconds(1 + random_.below(20'000));
    const bool compacts = random_.below(2) == 0;
    stage_.lab.kill_server(ending, 1 + random_.below(6), away,
                           compacts ? Server::History::kCompacted : Server::History::kKept);
    stage_.invariants.excuse(away + kClientsReturn);
    server_returns_ = stage_.lab.world.clock().now() + away + 1ms;
    return fmt::format("API server {}{}", name_of(ending), compacts ? ", compacted" : "");
  }

 private:
  static std::string_view name_of(faults::FakeServer::Ending ending) {
    switch (ending) {
      case faults::FakeServer::Ending::kRefuses:
        return "that refuses";
      case faults::FakeServer::Ending::kLosesRequests:
        return "that loses requests";
      case faults::FakeServer::Ending::kLosesReplies:
        return "that loses replies";
    }
    return "";
  }
  Stage& stage_;
  Random random_;
  Instant server_returns_ = {};
};

// By turns at the plugin, at a stock scheduler that is told of promises, and at one that asks the
// extender.
std::unique_ptr<Door> door_by_turns(Lab& lab, Seed seed) {
  switch (seed % 3) {
    case 0:
      return std::make_unique<Door>(lab);
    case 1:
      return std::make_unique<StockScheduler>(lab, spawn_extender(lab));
    default:
      return std::make_unique<Door>(lab, Door::Fault::kNone, Door::Way::kStock);
  }
}

TEST(SlotsProperty, P_28_KillsOfAnyComponentLoseNoJobAndLeakNoSlot) {
  constexpr int kKills = 25;  // forty seeds are a thousand
  const std::vector<std::string> wants = {"ab", "bca", "ccd", "eeda", "abcde", "dd"};
  std::map<std::string, int> killed;
  const std::vector<Seed> all = seeds(3, 40);
  for (const Seed seed : all) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Stage stage(in_processes(seed), [&](Lab& lab) { return door_by_turns(lab, seed); });
    Visitor visitor(stage.lab, spawn_gateway(stage.lab));
    Random random(seed);
    Killer killer(stage, random.fork("kills"));
    std::size_t next = 0;
    for (int kills = 0, step = 0; step < 2'000 && (kills < kKills || !visitor.open().empty());
         ++step) {
      if (next < wants.size() && random.below(4) == 0) {
        visitor.submit(fmt::format("s{}", next), wants[next]);
        ++next;
      }
      if (kills < kKills && random.below(2) == 0)
        if (const std::string who = killer.kill(); !who.empty()) {
          ++killed[who];
          ++kills;
        }
      stage.lab.run(std::chrono::milliseconds(1 + random.below(4'000)));
      for (const std::string& name : visitor.completed()) {
        const std::string& jobs = wants[static_cast<std::size_t>(name[1] - '0')];
        for (const char job : std::set<char>(jobs.begin(), jobs.end()))
          EXPECT_EQ(stage.runs(std::string(1, job), name), 1U) << name << " " << job;
        visitor.erase(name);
      }
    }
    EXPECT_EQ(next, wants.size());
    EXPECT_THAT(visitor.open(), IsEmpty()) << "every Scheduling is carried out";
    stage.lab.run(3min);
    EXPECT_TRUE(visitor.idle());
    EXPECT_THAT(visitor.wrongs, IsEmpty());
    EXPECT_THAT(stage.invariants.wrongs(), IsEmpty());
    EXPECT_THAT(stage.invariants.left_over(), IsEmpty());
    if (::testing::Test::HasFailure()) return;
  }
  for (const auto& [who, times] : killed) std::cout << fmt::format("{} kills: {}\n", times, who);
  if (all.size() == 1) return;
  for (const char* who : {"controllers", "controllers-1", "controllers-2", "controllers-3",
                          "extender", "gateway", "scheduler"})
    EXPECT_GT(killed[who], 0) << who;
}

// Faults that somebody might make, each in a run of its own: the invariants must find them.
std::string first_wrong(Stage& stage) {
  stage.submit("s", "aabbc");
  stage.lab.run(1min);
  return stage.invariants.wrongs().empty() ? "" : stage.invariants.wrongs().front();
}

TEST(PlantedFault, NoneIsFoundWhereThereIsNone) {
  Stage stage(in_processes(1));
  EXPECT_EQ(first_wrong(stage), "");
  EXPECT_GT(stage.invariants.grants(), 0U);
  Stage stock(in_processes(1), Door::Fault::kNone, Door::Way::kStock);
  EXPECT_EQ(first_wrong(stock), "");
  Stage asking(in_processes(1),
               [](Lab& lab) { return std::make_unique<StockScheduler>(lab, spawn_extender(lab)); });
  EXPECT_EQ(first_wrong(asking), "");
  EXPECT_TRUE(asking.completed("s"));
}
TEST(PlantedFault, APinThatIsIgnoredIsFound) {
  Stage stage(in_processes(1), Door::Fault::kPinIgnored, Door::Way::kStock);
  EXPECT_THAT(first_wrong(stage), StartsWith("I5"));
}
TEST(PlantedFault, AGhostThatIsDeletedAfterTheBindIsFound) {
  Stage stage(in_processes(1), Door::Fault::kGhostAfterBind);
  EXPECT_THAT(first_wrong(stage), StartsWith("P-11"));
}
TEST(PlantedFault, ADoorThatIgnoresWhoseSlotItIsIsFound) {
  Stage stage(in_processes(1), Door::Fault::kAnySlot);
  EXPECT_THAT(first_wrong(stage), StartsWith("I5"));
}

TEST(PlantedFault, ASchedulerThatDoesNotAskTheExtenderIsFound) {
  Stage stage(in_processes(1), [](Lab& lab) {
    return std::make_unique<StockScheduler>(lab, spawn_extender(lab), Door::Fault::kAnySlot);
  });
  EXPECT_THAT(first_wrong(stage), StartsWith("I5"));
}
TEST(PlantedFault, AGatewayThatAcceptsWhatItDoesNotStoreIsFound) {
  Stage stage(in_processes(1));
  Visitor visitor(stage.lab, spawn_gateway(stage.lab, GatewayFault::kStoresNothing));
  visitor.submit("s", "ab");
  stage.lab.run(1min);
  EXPECT_THAT(visitor.wrongs, Contains("s was accepted and is not there"));
  EXPECT_THAT(visitor.open(), Contains("s"));
}
// What is lost with a server that dies is asked for again, by whoever is there to ask.
TEST(PlantedFault, AComponentThatDoesNotComeBackIsFound) {
  for (const bool again : {true, false}) {
    Stage stage(in_processes(1));
    stage.submit("s", "ab");
    stage.lab.run(4s);
    EXPECT_FALSE(stage.completed("s"));
    if (!again) stage.lab.stop(1);  // of the BatchJobs
    stage.lab.kill_server(faults::FakeServer::Ending::kLosesRequests, 3, 10s,
                          faults::FakeServer::History::kCompacted);
    stage.invariants.excuse(1min);
    stage.lab.run(3min);
    EXPECT_EQ(stage.completed("s"), again);
    if (again) stage.erase("s");
    stage.lab.run(1min);
    EXPECT_EQ(stage.invariants.left_over().empty(), again);
    EXPECT_THAT(stage.invariants.wrongs(), IsEmpty());
  }
}

// Somebody who writes ledgers besides the allocator.
class Meddler final : public runtime::Controller {
 public:
  enum class Deed { kRelease, kGrant };
  explicit Meddler(Deed deed) : deed_(deed) {}
  runtime::Spec spec() const override {
    runtime::Spec spec("meddler");
    return spec.reconciles(kinds().ledger).patches(kinds().ledger);
  }
  runtime::Plan reconcile(const runtime::View& view, const Key& key, WallTime) const override {
    const Object* object = view.get(kinds().ledger, key);
    if (object == nullptr) return runtime::Plan::done();
    const slots::Ledger now = *slots::Ledger::parse(*object);
    if (now.grants().empty()) return runtime::Plan::done();
    slots::Ledger next = now;
    const slots::Grant first = now.grants().begin()->second;
    next.release(first.id);
    if (deed_ == Deed::kGrant) {  // the slots go to another while they are taken
      slots::Grant other = first;
      other.id = slots::grant_id("somebody-else", 1);
      (void)next.grant(other);
    }
    return runtime::Plan().patch(*object, slots::patch_between(*object, next), runtime::Pin::kUid,
                                 kube::PatchType::kJson);
  }

 private:
  Deed deed_;
};
std::string meddled(Meddler::Deed deed) {
  LabOptions options = in_processes(1);
  options.beside.push_back([deed] {
    std::vector<std::unique_ptr<runtime::Controller>> one;
    one.push_back(std::make_unique<Meddler>(deed));
    return one;
  });
  Stage stage(std::move(options));
  return first_wrong(stage);
}
TEST(PlantedFault, AReleaseBeforeTheRunIsClosedIsFound) {
  EXPECT_THAT(meddled(Meddler::Deed::kRelease), StartsWith("I"));
}
TEST(PlantedFault, AGrantWithoutRegardForWhatIsTakenIsFound) {
  EXPECT_THAT(meddled(Meddler::Deed::kGrant), StartsWith("I1"));
}

// Somebody who claims jobs by another rule than that of tickets.
class ClaimsOtherwise final : public runtime::Controller {
 public:
  enum class Rule { kByName, kKeepsAndWaits };
  explicit ClaimsOtherwise(Rule rule)
      : rule_(rule), real_(std::move(make_controllers({"scheduling-controller"})->front())) {}
  runtime::Spec spec() const override { return real_->spec(); }
  runtime::Plan reconcile(const runtime::View& view, const Key& key, WallTime now) const override {
    const Object* object = view.get(kinds().scheduling, key);
    if (object == nullptr) return runtime::Plan::done();
    ClaimFacts facts = claim_facts(view, kinds(), kube::SchedulingView(*object), now);
    if (rule_ == Rule::kByName)
      std::sort(facts.by_ticket.begin(), facts.by_ticket.end(),
                [](const Claimant& a, const Claimant& b) { return a.key < b.key; });
    const ClaimStep step = next_step(facts, object->uid());
    const bool claims = step.kind == ClaimStep::Kind::kClaim;
    runtime::Plan plan;
    if (claims || (step.kind == ClaimStep::Kind::kRelease && rule_ == Rule::kByName))
      for (const Key& job : step.jobs)
        plan.patch(
            *view.get(kinds().batch_job, job),
            claims
                ? fmt::format(
                      R"({{"spec":{{"activeScheduling":{{"name":"{}","namespace":"{}","uid":"{}"}}}}}})",
                      object->name(), object->ns(), object->uid())
                : R"({"spec":{"activeScheduling":null}})");
    return plan;
  }

 private:
  Rule rule_;
  std::unique_ptr<runtime::Controller> real_;
};
std::vector<std::string> claimed_otherwise(std::optional<ClaimsOtherwise::Rule> rule) {
  LabOptions options = in_processes(1);
  if (rule)
    options.controllers = [rule] {
      auto made = *make_controllers({"testbed-controller", "slot-allocator-controller"});
      made.push_back(std::make_unique<ClaimsOtherwise>(*rule));
      return made;
    };
  Stage stage(std::move(options));
  stage.submit("z", "aa");
  stage.lab.run(2s);  // tickets tell seconds apart
  stage.submit("y", "bc");
  stage.lab.run(1s);
  EXPECT_TRUE(stage.lab.patch(kinds().scheduling, {"default", "z"},
                              fmt::format(R"({{"spec":{{"queueBased":[{},{},{}]}}}})", entry("a"),
                                          entry("a"), entry("b"))));
  stage.submit("x", "ad");
  stage.lab.run(10s);
  return stage.invariants.wrongs();
}
TEST(PlantedFault, TicketsThatAreComparedByNameAreFound) {
  EXPECT_THAT(claimed_otherwise(ClaimsOtherwise::Rule::kByName), Contains(StartsWith("6")));
}
TEST(PlantedFault, AClaimThatIsKeptWhileAnotherIsWaitedForIsFound) {
  EXPECT_THAT(claimed_otherwise(ClaimsOtherwise::Rule::kKeepsAndWaits), Contains(StartsWith("6")));
}
TEST(PlantedFault, ClaimsByTicketAreNotTakenForOne) {
  EXPECT_THAT(claimed_otherwise(std::nullopt), IsEmpty());
}

}  // namespace
}  // namespace berth::controllers::stories
