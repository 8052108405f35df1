// SPDX-License-Identifier: Apache-2.0
// A cluster in which scavengers are in the way of a pod, as values: what every door is shown, and
// what the oracle reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "fake_server.h"
#include "policy/scavenge/cost.h"

namespace berth::scavenger_doors {

struct FixtureNode {
  std::string name;
  std::int64_t cores = 4000;  // thousandths
  std::int64_t gib = 16;
  std::int64_t pods = 20;
  std::string zone = "a";
  bool cordoned = false;
};
struct FixtureJob {
  std::string name;
  scavenge::CostBasis basis = {};
  bool has_basis = true;
  WallTime started = {};
  Duration min_run{};
  Duration max_notice{};
  std::string least_cpu = {};  // elastic
  bool alias = false;          // of the other group
};
struct FixturePod {
  std::string name, node = {};
  std::string job = {};  // "": an ordinary pod
  std::int64_t cores = 1000, gib = 1;
  std::int32_t priority = -1000;
  int port = 0;             // on the host; 0: none
  std::string app = "x";    // a label
  std::string avoids = "";  // pods with this label, on its node
  bool deleting = false;
  bool kept = false;  // by a finalizer
};
struct FixtureBudget {
  std::string name, app;
  std::int64_t allowed = 0;
};
struct Fixture {
  std::vector<FixtureNode> nodes;
  std::vector<FixtureJob> jobs;
  std::vector<FixturePod> pods;
  std::vector<FixtureBudget> budgets;
  bool honour = false;
  std::string max_notice = "0s";
  FixturePod preemptor{.name = "wanted", .priority = 0};
  std::string avoided_in = "kubernetes.io/hostname";  // where the preemptor avoids others

  const FixtureJob& job(const std::string& name) const;
};

// At most `jobs` jobs, gangs over nodes among them. Its times are before `now` and no cost changes
// within the next seconds but for those that grow with every one of them.
Fixture random_fixture(Random&, std::size_t nodes, std::size_t jobs, WallTime now);

// Everything but the preemptor; the policy too.
void show(const Fixture&, faults::FakeServer&, bool reclaim = false);
// `polite`: it may not preempt and fits nowhere, as its scheduler has said.
void show_preemptor(const Fixture&, faults::FakeServer&, bool polite = false);
// The members of each object but its name, as JSON.
std::string node_json(const FixtureNode&);
std::string job_json(const FixtureJob&);
std::string pod_json(const FixturePod&);
std::string preemptor_json(const Fixture&, bool polite = false);
std::string budget_json(const FixtureBudget&);
std::string policy_json(const Fixture&, bool reclaim = false);

// What the best choice is, by a plain loop over all sets of jobs on all nodes and the literal
// filters. nullopt: no set of scavengers will do, or the pod fits as it is.
struct BestChoice {
  int violations = 0;
  int tier = 0;
  std::int64_t cost = 0;
  std::size_t jobs = 0;
  WallTime started = {};  // the earliest
  std::string node = {};
  std::vector<std::string> names = {};  // of the jobs, sorted by uid
  friend bool operator==(const BestChoice&, const BestChoice&) = default;
};
std::optional<BestChoice> brute_force(const Fixture&, WallTime now);
// What a choice of these pods' jobs costs; each job once.
BestChoice value_of(const Fixture&, const std::vector<std::string>& pods, WallTime now);
// Does the preemptor fit on the node without these pods?
bool fits_without(const Fixture&, const FixtureNode&, const std::vector<std::string>& gone);

}  // namespace berth::scavenger_doors
