// SPDX-License-Identifier: Apache-2.0
// Faults that queue_faults_test plants to see that the property test finds them. In every other
// build planted() is a constant, and nothing of this is left.
#pragma once

#include <cstdint>

namespace berth::scheduler {

enum class Fault : std::uint8_t {
  kNone,
  kBackoffCount,     // one failure too many is counted
  kBackoffEquality,  // a pod of this second's window is let go
  kErrorHeap,        // pods refused by plugins wait with those that failed by errors
  kForgetReplay,     // events during an attempt are not looked at
  kTrimTooMuch,      // events that a pod in flight still needs are dropped
  kGroupMember,      // the last pod of a group stays behind
  kGroupSubject,     // the pod that an event is about is not asked by itself
  kKeepGroup,        // an updated pod stays in its old group
  kGatingEvents,     // gated pods wake for any event
  kMoveOrder,        // pods leave the pool group by group
  kTimestamp,        // a move refreshes the timestamp
  kNomination,       // an update drops a nomination that it does not know
  kGatedInBackoff,   // a pod is put in the pool while it is in backoffQ
};

#ifdef BERTH_PLANTED_FAULTS
extern Fault planted_fault;
inline bool planted(Fault fault) { return planted_fault == fault; }
#else
constexpr bool planted(Fault) { return false; }
#endif

}  // namespace berth::scheduler
