// SPDX-License-Identifier: Apache-2.0
// Whom to interrupt so that a pod fits, where scavenger jobs are in its way: the jobs that lose the
// least work, on whichever node. One choice with three users: preemption in our scheduler, the
// extender's preempt verb, and the operator's own reclaim. Pure: nobody is evicted here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/scavenge/board.h"
#include "policy/scavenge/victim_record.h"
#include "scheduler/preemption/dry_run.h"

namespace berth::scheduler {

// A job that is interrupted, with all its members wherever they are.
struct LostJob {
  scavenge::BoardJob job;
  std::int64_t cost = 0;  // milli core-seconds, of all members
  int tier = 0;
  bool going = false;                  // a member is on its way out already
  std::vector<std::string> pods = {};  // on the chosen node, by name
};

// What the choice would have cost elsewhere.
struct OtherNode {
  std::string node;
  std::int64_t cost = 0;
  int top_tier = 0;
  std::vector<std::string> jobs = {};  // "ns/name"
};

struct LostWork {
  // Its victims are pods of scavenger jobs alone: the most important first, then the oldest, then
  // by uid.
  PreemptionCandidate candidate;
  std::vector<LostJob> jobs;                    // by uid
  std::int64_t cost = 0;                        // of all of them
  std::optional<std::int64_t> stock_cost = {};  // of the jobs that kube-scheduler would take
  int top_tier = 0;
  std::vector<OtherNode> others;  // the best of them, three at most
  std::uint32_t nodes = 0;        // on which scavenger jobs were looked at
  bool exact = true;              // no search ended for lack of patience
  double gap = 1;                 // the cost, of the least that is possible: at most this
  WallTime now = {};
  bool shrink = false;  // the jobs are only made smaller: there are no victims, and nothing is lost
};

// For people and the page. `door`: who chose.
scavenge::VictimRecord record_of(const LostWork&, const Pod& preemptor, std::string_view door);

// Lower goes first: a smaller priority, and among equals who has run for its minimum.
int tier_of(std::int32_t priority, const scavenge::BoardJob&, WallTime now);

// The nodes where eviction could help, by row: refused, but not for good.
std::vector<std::uint32_t> candidate_rows(const PreemptionQuestion&);

// Costs are compared at a whole second: doors that ask within the same one get the same answer.
// nullopt: not my case. No job's pod is a possible victim on these rows, or no node can be freed by
// them alone.
std::optional<LostWork> pick_victims(const PreemptionQuestion&, std::span<const std::uint32_t> rows,
                                     const scavenge::Board&);

// The jobs that make room by becoming as small as they can be, the fewest of them on one node.
// nullopt: that would not be enough anywhere.
std::optional<LostWork> pick_shrinks(const PreemptionQuestion&, std::span<const std::uint32_t> rows,
                                     const scavenge::Board&);

}  // namespace berth::scheduler
