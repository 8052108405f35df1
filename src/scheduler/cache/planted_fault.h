// SPDX-License-Identifier: Apache-2.0
// Faults that fast_path_prop_test plants to see that it would find them. In every other build
// planted() is a constant, and nothing of this is left.
#pragma once

#include <cstdint>

namespace berth::scheduler {

enum class CacheFault : std::uint8_t {
  kNone,
  kSkipJournal,       // some entries of the journal are not looked at
  kForgetOnDelete,    // a set still counts a pod that is gone
  kForgetOnRelabel,   // the sets that a pod left still count it
  kStrictBound,       // a bound that no row reaches counts as reached
  kRankWithoutStart,  // ties are ranked from the first row
  kKeepFeasible,      // a domain's verdict flips and its rows do not
  kKeepOnRemoval,     // caches outlive the rows they were made for
  kKeepOwnPart,       // an entry of the journal does not tell which counts changed
};

#ifdef BERTH_PLANTED_FAULTS
extern CacheFault planted_cache_fault;
inline bool planted(CacheFault fault) { return planted_cache_fault == fault; }
#else
constexpr bool planted(CacheFault) { return false; }
#endif

}  // namespace berth::scheduler
