// SPDX-License-Identifier: Apache-2.0
// The ticket rule, as a table and as a model: every interleaving of a few Schedulings, each acting
// on a view that may be old, with writes that are checked against the present.
#include "controllers/scheduling/claims.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/ours/reasons.h"

namespace berth::controllers {
namespace {

using Kind = ClaimStep::Kind;
using testing::ElementsAre;

Key job(char name) { return {"d", std::string(1, name)}; }
Claimant claimant(std::string uid, std::string_view jobs, bool acquired = false,
                  std::string testbed = "") {
  Claimant one{.uid = uid, .key = {"d", uid}, .acquired = acquired, .jobs = {}};
  if (!testbed.empty()) one.testbed = {"d", std::move(testbed)};
  for (const char name : jobs) one.jobs.push_back({job(name)});
  return one;
}

TEST(Claims, TheFirstClaimsInSortedOrder) {
  ClaimFacts facts{{claimant("s1", "BA")}, {{job('A'), ""}, {job('B'), ""}}, {}};
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kClaim);
  EXPECT_THAT(next_step(facts, "s1").jobs, ElementsAre(job('A')));
  facts.jobs[job('A')] = "s1";
  EXPECT_THAT(next_step(facts, "s1").jobs, ElementsAre(job('B')));
  facts.jobs[job('B')] = "s1";
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kOwns);
}

TEST(Claims, ESI_080_WhoIsNotFirstHoldsNothing) {
  ClaimFacts facts{
      {claimant("s1", "A"), claimant("s2", "AB")}, {{job('A'), "s1"}, {job('B'), "s2"}}, {}};
  const ClaimStep step = next_step(facts, "s2");
  EXPECT_EQ(step.kind, Kind::kRelease);
  EXPECT_THAT(step.jobs, ElementsAre(job('B')));
  facts.jobs[job('B')] = "";
  EXPECT_EQ(next_step(facts, "s2").kind, Kind::kWait);
  EXPECT_EQ(next_step(facts, "s2").reason, kube::reason::kJobHeld);
  facts.jobs[job('A')] = "";
  EXPECT_EQ(next_step(facts, "s2").reason, kube::reason::kNotFirst);
}

TEST(Claims, ESI_090_AJobThatDoesNotExistBlocksNobody) {
  const ClaimFacts facts{{claimant("s1", "AB")}, {{job('B'), ""}}, {}};
  EXPECT_THAT(next_step(facts, "s1").jobs, ElementsAre(job('B')));
}

TEST(Claims, ESI_082_AnExclusiveTestbedIsTheLastThing) {
  ClaimFacts facts{{claimant("s1", "A", false, "tb"), claimant("s2", "B", false, "tb")},
                   {{job('A'), "s1"}, {job('B'), ""}},
                   {{{"d", "tb"}, ""}}};
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kTestbed);
  EXPECT_EQ(next_step(facts, "s2").reason, kube::reason::kNotFirst);
  facts.testbeds[{"d", "tb"}] = "s1";
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kOwns);
  EXPECT_EQ(next_step(facts, "s2").reason, kube::reason::kTestbedHeld);
}

TEST(Claims, ESI_087_ALateEntryReleasesWhatStandsBehindItAndKeepsWhatCanRun) {
  ClaimFacts facts{{claimant("s0", "B"), claimant("s1", "ABC", true)},
                   {{job('A'), "s1"}, {job('B'), "s0"}, {job('C'), "s1"}},
                   {}};
  const ClaimStep step = next_step(facts, "s1");
  EXPECT_EQ(step.kind, Kind::kRelease);
  EXPECT_THAT(step.jobs, ElementsAre(job('C')));
}

TEST(Claims, AFinishedJobIsGivenBackOnceAnotherWantsIt) {
  ClaimFacts facts{{claimant("s1", "A", true)}, {{job('A'), "s1"}}, {}};
  facts.by_ticket[0].jobs[0].finished = true;
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kOwns);
  facts.by_ticket.push_back(claimant("s2", "A"));
  EXPECT_EQ(next_step(facts, "s1").kind, Kind::kRelease);
}

TEST(Claims, ESI_123_AJobThatWasRemovedIsReleased) {
  const ClaimFacts facts{{claimant("s1", "A", true)}, {{job('A'), "s1"}, {job('B'), "s1"}}, {}};
  EXPECT_THAT(next_step(facts, "s1").jobs, ElementsAre(job('B')));
}

// The model. A state: who holds each job, how far each Scheduling is, and the view each acts on.
struct World {
  std::map<char, int> holder;        // job -> Scheduling, -1 nobody
  std::vector<std::string> wants;    // by Scheduling, in ticket order
  std::vector<int> phase;            // 0 acquiring, 1 acquired, 2 completed and released
  std::vector<std::string> late;     // entries to be added once acquired
  std::vector<std::set<char>> done;  // finished jobs
  std::vector<std::string> bed;      // the Testbed each wants for itself; "": it shares
  std::map<std::string, int> owner;  // of Testbeds, or -1
  friend auto operator<=>(const World&, const World&) = default;
};

constexpr std::size_t kNobody = 99;

// As the viewer sees it; whoever is astray compares names where it should compare tickets.
ClaimFacts facts_of(const World& world, bool astray = false) {
  ClaimFacts facts;
  for (std::size_t i = 0; i < world.wants.size(); ++i) {
    Claimant one = claimant(std::to_string(i), world.wants[i], world.phase[i] >= 1, world.bed[i]);
    one.live = world.phase[i] < 2;
    for (Claimant::Wanted& each : one.jobs)
      each.finished = world.done[i].count(each.job.name[0]) > 0;
    facts.by_ticket.push_back(std::move(one));
  }
  for (const auto& [name, by] : world.holder)
    facts.jobs[job(name)] = by < 0 ? "" : std::to_string(by);
  for (const auto& [name, by] : world.owner)
    facts.testbeds[{"d", name}] = by < 0 ? "" : std::to_string(by);
  if (astray) std::reverse(facts.by_ticket.begin(), facts.by_ticket.end());
  return facts;
}

// What Scheduling i does next, seeing `seen`, where the world is `now`. Writes to a job that has
// changed since are refused.
std::optional<World> act(const World& now, const World& seen, std::size_t i,
                         std::size_t astray = kNobody) {
  World next = now;
  if (now.phase[i] == 2) {
    bool released = false;
    if (const auto bed = next.owner.find(now.bed[i]);
        bed != next.owner.end() && bed->second == static_cast<int>(i)) {
      bed->second = -1;
      released = true;
    }
    for (auto& [name, by] : next.holder)
      if (by == static_cast<int>(i)) {
        by = -1;
        released = true;
      }
    return released ? std::optional(next) : std::nullopt;
  }
  const ClaimStep step = next_step(facts_of(seen, i == astray), std::to_string(i));
  const auto current = [&](char name) { return now.holder.at(name) == seen.holder.at(name); };
  switch (step.kind) {
    case Kind::kClaim: {
      const char name = step.jobs[0].name[0];
      if (!current(name)) return std::nullopt;
      next.holder[name] = static_cast<int>(i);
      return next;
    }
    case Kind::kRelease:
      for (const Key& key : step.jobs)
        if (current(key.name[0]) && now.holder.at(key.name[0]) == static_cast<int>(i))
          next.holder[key.name[0]] = -1;
      return next == now ? std::nullopt : std::optional(next);
    case Kind::kOwns:
      if (now.phase[i] == 0) {
        next.phase[i] = 1;
        return next;
      }
      break;
    case Kind::kTestbed:
      if (now.owner.at(now.bed[i]) != -1) return std::nullopt;  // the ledger has moved on
      next.owner[now.bed[i]] = static_cast<int>(i);
      return next;
    case Kind::kWait:
      break;
  }
  if (now.phase[i] != 1) return std::nullopt;
  // Jobs run in order: the first that is not finished ends, if it is held.
  for (const char name : now.wants[i])
    if (now.done[i].count(name) == 0) {
      if (now.holder.at(name) != static_cast<int>(i)) return std::nullopt;
      next.done[i].insert(name);
      return next;
    }
  if (!now.late[i].empty()) return std::nullopt;  // the user adds them first
  next.phase[i] = 2;
  return next;
}

// Has somebody acquired what an older one, which has not, wants too?
bool overtaken(const World& world) {
  for (std::size_t i = 0; i < world.wants.size(); ++i)
    for (std::size_t older = 0; older < i; ++older)
      if (world.phase[i] == 1 && world.done[i].empty() && world.phase[older] == 0 &&
          world.wants[i].find_first_of(world.wants[older]) != std::string::npos)
        return true;
  return false;
}

// All states that can be reached; answers with what is wrong, or "".
std::string explore(const World& first, std::size_t* states = nullptr,
                    std::size_t astray = kNobody) {
  // An entry that is added late may have been somebody else's for long.
  const bool in_order = std::all_of(first.late.begin(), first.late.end(),
                                    [](const std::string& late) { return late.empty(); });
  // A Scheduling sees the present or the state one step before.
  using Pair = std::pair<World, World>;
  std::map<Pair, std::vector<Pair>> graph;
  std::deque<Pair> open = {{first, first}};
  graph[open.front()];
  std::set<Pair> final;
  while (!open.empty()) {
    const Pair at = open.front();
    open.pop_front();
    const auto go = [&](Pair to) {
      graph[at].push_back(to);
      if (graph.emplace(to, std::vector<Pair>()).second) open.push_back(std::move(to));
    };
    const auto& [now, before] = at;
    if (in_order && overtaken(now)) return "somebody overtakes an older one";
    bool ended = true;
    for (std::size_t i = 0; i < now.wants.size(); ++i) {
      ended &= now.phase[i] == 2;
      for (const World* seen : {&now, &before})
        if (auto next = act(now, *seen, i, astray)) go({*next, now});
      if (now.phase[i] == 1 && !now.late[i].empty()) {
        World next = now;
        next.wants[i] += next.late[i];
        next.late[i].clear();
        go({next, now});
      }
    }
    if (!(now == before)) go({now, now});  // caches catch up
    for (const auto& [name, by] : now.holder) ended &= by < 0;
    for (const auto& [name, by] : now.owner) ended &= by < 0;
    if (ended && now == before) final.insert(at);
  }
  // From every state the end can be reached.
  std::map<Pair, std::vector<const Pair*>> back;
  for (const auto& [from, tos] : graph)
    for (const Pair& to : tos) back[to].push_back(&from);
  std::set<Pair> good = final;
  std::deque<Pair> queue(final.begin(), final.end());
  while (!queue.empty()) {
    const Pair at = queue.front();
    queue.pop_front();
    for (const Pair* from : back[at])
      if (good.insert(*from).second) queue.push_back(*from);
  }
  if (states != nullptr) *states = graph.size();
  if (final.empty()) return "no end is reached";
  return good.size() == graph.size()
             ? ""
             : fmt::format("{} of {} states are dead", graph.size() - good.size(), graph.size());
}

World world_of(std::vector<std::string> wants, std::vector<std::string> late = {},
               std::vector<std::string> beds = {}) {
  World world;
  world.bed = std::move(beds);
  world.bed.resize(wants.size());
  for (const std::string& each : world.bed)
    if (!each.empty()) world.owner[each] = -1;
  for (const std::string& each : wants)
    for (const char name : each) world.holder[name] = -1;
  for (const std::string& each : late)
    for (const char name : each) world.holder[name] = -1;
  world.phase.assign(wants.size(), 0);
  world.done.resize(wants.size());
  world.late = std::move(late);
  world.late.resize(wants.size());
  world.wants = std::move(wants);
  return world;
}

TEST(ClaimsModel, P_24_NoInterleavingIsDead) {
  for (const std::vector<std::string>& wants : std::vector<std::vector<std::string>>{
           {"AB", "BA"}, {"AB", "BC", "CA"}, {"ABC", "A", "C"}, {"A", "AB", "B"}})
    EXPECT_EQ(explore(world_of(wants)), "") << testing::PrintToString(wants);
}

TEST(ClaimsModel, P_24_EntriesThatAreAddedAcrossEachOtherDoNotDeadlock) {
  std::size_t states = 0;
  EXPECT_EQ(explore(world_of({"A", "B"}, {"B", "A"}), &states), "");
  EXPECT_GT(states, 20u);
  EXPECT_EQ(explore(world_of({"A", "B", "C"}, {"B", "C", "A"}), &states), "");
  EXPECT_EQ(explore(world_of({"AC", "B"}, {"B", "C"}), &states), "");
}

TEST(ClaimsModel, P_24_ThreeSchedulingsThreeJobsAndTwoTestbedsAreNeverStuck) {
  std::size_t states = 0, all = 0;
  for (const std::vector<std::string>& wants : std::vector<std::vector<std::string>>{
           {"AB", "BC", "CA"}, {"AB", "BA", "C"}, {"ABC", "CB", "BA"}})
    for (const std::vector<std::string>& beds : std::vector<std::vector<std::string>>{
             {"x", "y", "x"}, {"x", "x", "y"}, {"x", "x", "x"}, {"x", "", "y"}}) {
      EXPECT_EQ(explore(world_of(wants, {}, beds), &states), "")
          << testing::PrintToString(wants) << testing::PrintToString(beds);
      all += states;
    }
  EXPECT_GT(all, 1'000u);
  EXPECT_EQ(explore(world_of({"A", "B", "C"}, {"B", "C", "A"}, {"x", "y", "x"}), &states), "");
}

TEST(ClaimsModel, PlantedATicketThatIsComparedByNameIsFound) {
  EXPECT_NE(explore(world_of({"AB", "BA"}), nullptr, 1), "");
}

}  // namespace
}  // namespace berth::controllers
