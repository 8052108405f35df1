// SPDX-License-Identifier: Apache-2.0
// Which jobs to interrupt on a node so that something fits: the set that loses the least work.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace berth::scavenge {

// One job on one node: all its pods there. Its cost is that of all its members, wherever they are.
struct Unit {
  int tier = 0;  // lower goes first, whatever it costs
  int pdb_violations = 0;
  std::int64_t cost = 0;
  std::vector<std::int64_t> freed = {};  // by resource, in the order of the need
  WallTime started = {};
  std::string uid = {};  // of the job; breaks ties
};
// Places in the span of units, ascending.
using UnitSet = std::vector<std::size_t>;

struct Cover {
  bool found = false;
  UnitSet units = {};
  int top_tier = 0;
  int pdb_violations = 0;
  std::int64_t cost = 0;
  WallTime started = {};        // the earliest of its units
  bool exact = true;            // nothing that could be better was left out
  double gap = 1;               // its cost, of the least that is possible: at most this
  std::uint32_t looked_at = 0;  // sets, for metrics
};

// `need` is what is missing, by resource; nothing missing (all <= 0) still asks `fits`, since ports
// or affinity may be in the way. `fits` is asked only of sets that cover the need, and but for the
// first bounds only of those that would be the best so far. Least first: violations of budgets, the
// top tier, the cost; then the fewest units, the latest start, the smaller sorted uids. Neither the
// order of the units nor anything else that doors may have differently changes the answer.
// Branch and bound; greedy, stock and cost order give the first bound, so that a budget that runs
// out never costs more than the stock order. Of more than twelve units a set within a hundredth of
// the least that is possible is enough, once a thousand were looked at. A cover that is dearer than
// `give_up_above` is as good as none.
Cover cheapest_cover(std::span<const Unit> units, std::span<const std::int64_t> need,
                     const std::function<bool(const UnitSet&)>& fits, std::uint32_t budget = 20'000,
                     std::int64_t give_up_above = INT64_MAX);

// Which of two covers on different nodes is to be taken; equal: the earlier node stays.
bool better(const Cover&, WallTime latest_start, const Cover& than, WallTime its_latest_start);
inline bool better(const Cover& cover, const Cover& than) {
  return better(cover, cover.started, than, than.started);
}

}  // namespace berth::scavenge
