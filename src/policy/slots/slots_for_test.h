// SPDX-License-Identifier: Apache-2.0
// A Testbed in a few words, for tests: nodes n0, n1, …, their slots, who holds and uses them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/slots/plan.h"

namespace berth::slots {

// Thread-compatible.
class TestbedScene {
 public:
  explicit TestbedScene(int nodes = 3, int per_node = 2) {
    kube::SlotClass one{"default", per_node, "", {}};
    one.size["cpu"] = *kube::Quantity::parse("750m");
    classes = {one};
    wanted = {{"default", per_node, {}}};
    for (int i = 0; i < nodes; ++i) {
      const std::string name = fmt::format("n{}", i);
      wanted[0].nodes.push_back(name);
      facts[name] = {.name = name, .label_value = std::to_string(i)};
    }
    ledger.blocks = next_blocks({}, wanted, true);
    for (const Cell& cell : cells_of(ledger.blocks, wanted)) ghost(cell.slot);
  }

  TestbedScene& ghost(SlotNumber slot, bool bound = true) {
    pods.push_back({.key = {"default", fmt::format("ghost-{}", slot)},
                    .uid = fmt::format("ghost-{}", slot),
                    .node = bound ? node_of(slot) : "",
                    .ghost = true,
                    .slot = slot,
                    .created = WallTime{}});
    return *this;
  }
  TestbedScene& no_ghost(SlotNumber slot) {
    std::erase_if(pods, [&](const PodFact& pod) { return pod.ghost && pod.slot == slot; });
    return *this;
  }
  TestbedScene& job(const std::string& name, const std::string& claimed_by = "s") {
    jobs[{"default", name}] = {.uid = name + "00000000-0000",
                               .claimed_by = {"default", claimed_by}};
    return *this;
  }
  // The job has these slots; where it runs there, each has an executor.
  GrantId grant(const std::string& name, std::set<SlotNumber> slots, bool runs = false,
                const std::string& scheduling = "s") {
    const Key key{"default", name};
    if (jobs.find(key) == jobs.end()) job(name, scheduling);
    JobFact& fact = jobs[key];
    fact.grant = grant_id(fact.uid, fact.next_run);
    const auto granted = ledger.grant({fact.grant, key, {"default", scheduling}, "", slots});
    if (!granted) throw std::runtime_error(granted.error().message);
    run_facts[fact.grant] = {.job = key, .ordered = slots};
    for (const SlotNumber slot : slots) {
      if (!runs) continue;
      no_ghost(slot);
      pods.push_back({.key = {"default", fmt::format("{}-{}", name, slot)},
                      .uid = fmt::format("{}-{}", name, slot),
                      .node = node_of(slot),
                      .grant = fact.grant,
                      .slot = slot,
                      .created = WallTime{}});
    }
    return fact.grant;
  }
  std::string node_of(SlotNumber slot) const {
    for (const Cell& cell : cells_of(ledger.blocks, wanted))
      if (cell.slot == slot) return std::string(cell.node);
    return "";
  }
  SlotTable table(WallTime now = {}) const {
    return observe({ledger, wanted, classes, facts, pods, run_facts, held}, now);
  }
  GrantPlan plan(const std::vector<Demand>& by_ticket) const {
    const SlotTable now = table();
    return plan_grants({now, by_ticket, jobs, ledger, quotas, by_hand});
  }

  std::vector<kube::SlotClass> classes;
  std::vector<WantedClass> wanted;
  NodeFacts facts;
  std::vector<PodFact> pods;
  RunFacts run_facts;
  Ledger ledger;
  JobsView jobs;
  std::vector<kube::SlotQuota> quotas;
  std::vector<HandOrder> by_hand;
  std::optional<int> held;
};

// A Scheduling of these entries: "ABA".
inline Demand queue_of(std::string_view jobs, const std::string& name = "s") {
  Demand demand{.key = {"default", name}, .entries = {}};
  for (const char job : jobs) demand.entries.push_back({{"default", std::string(1, job)}});
  return demand;
}
inline Demand slots_of(Demand::Mode mode,
                       std::vector<std::pair<std::string, std::set<SlotNumber>>> jobs,
                       const std::string& name = "s") {
  Demand demand{.key = {"default", name}, .mode = mode, .entries = {}};
  for (auto& [job, slots] : jobs)
    demand.entries.push_back({{"default", std::move(job)}, std::move(slots)});
  return demand;
}
// "A{0,2} B{1}"
inline std::string text_of(const std::vector<Grant>& grants) {
  std::string text;
  for (const Grant& grant : grants) {
    std::string slots;
    for (const SlotNumber slot : grant.slots)
      slots += fmt::format("{}{}", slots.empty() ? "" : ",", slot);
    text += fmt::format("{}{}{{{}}}", text.empty() ? "" : " ", grant.job.name, slots);
  }
  return text;
}

}  // namespace berth::slots
