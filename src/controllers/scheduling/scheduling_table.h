// SPDX-License-Identifier: Apache-2.0
// The life of a Scheduling as a table: what it does next follows from its state and from what is
// seen. The diagrams in the documents are drawn from the same rows.
#pragma once

#include <span>
#include <string_view>

namespace berth::controllers {

enum class SchedulingState : unsigned char {
  kAcquire,
  kSubmitting,
  kAwaitingCompletion,
  kCompleted,
  kReleasing,
};
// What is seen, the first that applies.
enum class SchedulingInput : unsigned char {
  kDeleted,      // and somebody still names it
  kReleased,     // deleted, and nobody does
  kTtlOver,      // completed long enough ago
  kDone,         // completed
  kLost,         // the Testbed that it had
  kGranted,      // slots, for a job that has no order for them yet
  kMustRelease,  // it holds what others may have
  kMayClaim,     // the next job that it wants
  kWaits,        // for its turn, not having acquired everything yet
  kEntriesLeft,  // everything is acquired
  kRunsOpen,     // and every entry used up
  kFailed,       // and every run closed, one of them badly, and it is to stop for that
  kAllClosed,    // and every run closed
};
enum class SchedulingAction : unsigned char {
  kNothing,
  kOrder,          // the granted jobs to run
  kClaim,          // one job
  kRelease,        // some jobs
  kComplete,       // note the time
  kErase,          // itself
  kReleaseAll,     // jobs
  kDropFinalizer,  // so that it goes
};

struct SchedulingRow {
  SchedulingState state;
  SchedulingInput input;
  SchedulingState next;
  SchedulingAction action;
};
// A pair that cannot be, and why.
struct ImpossibleRow {
  SchedulingState state;
  SchedulingInput input;
  std::string_view why;
};
std::span<const SchedulingRow> scheduling_rows();
std::span<const ImpossibleRow> impossible_rows();
const SchedulingRow& scheduling_row(SchedulingState, SchedulingInput);  // must be possible

std::string_view name_of(SchedulingState);
std::string_view name_of(SchedulingInput);
std::string_view name_of(SchedulingAction);
SchedulingState scheduling_state(std::string_view name);  // as the status has it

}  // namespace berth::controllers
