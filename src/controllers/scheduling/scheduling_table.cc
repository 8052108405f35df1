// SPDX-License-Identifier: Apache-2.0
#include "controllers/scheduling/scheduling_table.h"

#include "base/check.h"

namespace berth::controllers {
namespace {

using S = SchedulingState;
using I = SchedulingInput;
using A = SchedulingAction;

constexpr SchedulingRow kRows[] = {
    {S::kAcquire, I::kDeleted, S::kReleasing, A::kReleaseAll},
    {S::kAcquire, I::kReleased, S::kReleasing, A::kDropFinalizer},
    {S::kAcquire, I::kLost, S::kAcquire, A::kNothing},
    {S::kAcquire, I::kGranted, S::kSubmitting, A::kOrder},
    {S::kAcquire, I::kMustRelease, S::kAcquire, A::kRelease},
    {S::kAcquire, I::kMayClaim, S::kAcquire, A::kClaim},
    {S::kAcquire, I::kWaits, S::kAcquire, A::kNothing},
    {S::kAcquire, I::kEntriesLeft, S::kSubmitting, A::kNothing},
    {S::kAcquire, I::kRunsOpen, S::kAwaitingCompletion, A::kNothing},
    {S::kAcquire, I::kFailed, S::kAwaitingCompletion, A::kNothing},
    {S::kAcquire, I::kAllClosed, S::kCompleted, A::kComplete},

    {S::kSubmitting, I::kDeleted, S::kReleasing, A::kReleaseAll},
    {S::kSubmitting, I::kReleased, S::kReleasing, A::kDropFinalizer},
    {S::kSubmitting, I::kLost, S::kAcquire, A::kNothing},
    {S::kSubmitting, I::kGranted, S::kSubmitting, A::kOrder},
    {S::kSubmitting, I::kMustRelease, S::kSubmitting, A::kRelease},
    {S::kSubmitting, I::kMayClaim, S::kSubmitting, A::kClaim},
    {S::kSubmitting, I::kWaits, S::kAcquire, A::kNothing},
    {S::kSubmitting, I::kEntriesLeft, S::kSubmitting, A::kNothing},
    {S::kSubmitting, I::kRunsOpen, S::kAwaitingCompletion, A::kNothing},
    {S::kSubmitting, I::kFailed, S::kAwaitingCompletion, A::kNothing},
    {S::kSubmitting, I::kAllClosed, S::kCompleted, A::kComplete},

    {S::kAwaitingCompletion, I::kDeleted, S::kReleasing, A::kReleaseAll},
    {S::kAwaitingCompletion, I::kReleased, S::kReleasing, A::kDropFinalizer},
    {S::kAwaitingCompletion, I::kLost, S::kAcquire, A::kNothing},
    {S::kAwaitingCompletion, I::kGranted, S::kSubmitting, A::kOrder},
    {S::kAwaitingCompletion, I::kMustRelease, S::kAwaitingCompletion, A::kRelease},
    {S::kAwaitingCompletion, I::kMayClaim, S::kSubmitting, A::kClaim},
    {S::kAwaitingCompletion, I::kWaits, S::kAcquire, A::kNothing},
    {S::kAwaitingCompletion, I::kEntriesLeft, S::kSubmitting, A::kNothing},
    {S::kAwaitingCompletion, I::kRunsOpen, S::kAwaitingCompletion, A::kNothing},
    {S::kAwaitingCompletion, I::kFailed, S::kAwaitingCompletion, A::kNothing},
    {S::kAwaitingCompletion, I::kAllClosed, S::kCompleted, A::kComplete},

    {S::kCompleted, I::kDeleted, S::kReleasing, A::kReleaseAll},
    {S::kCompleted, I::kReleased, S::kReleasing, A::kDropFinalizer},
    {S::kCompleted, I::kTtlOver, S::kCompleted, A::kErase},
    {S::kCompleted, I::kDone, S::kCompleted, A::kNothing},

    {S::kReleasing, I::kDeleted, S::kReleasing, A::kReleaseAll},
    {S::kReleasing, I::kReleased, S::kReleasing, A::kDropFinalizer},
};

constexpr std::string_view kNotCompleted = "only what has a completion time is done",
                           kFinal = "what is completed stays completed",
                           kGoing = "nobody can take a deletion back";
constexpr ImpossibleRow kImpossible[] = {
    {S::kAcquire, I::kTtlOver, kNotCompleted},
    {S::kAcquire, I::kDone, kNotCompleted},
    {S::kSubmitting, I::kTtlOver, kNotCompleted},
    {S::kSubmitting, I::kDone, kNotCompleted},
    {S::kAwaitingCompletion, I::kTtlOver, kNotCompleted},
    {S::kAwaitingCompletion, I::kDone, kNotCompleted},
    {S::kCompleted, I::kLost, kFinal},
    {S::kCompleted, I::kGranted, kFinal},
    {S::kCompleted, I::kMustRelease, kFinal},
    {S::kCompleted, I::kMayClaim, kFinal},
    {S::kCompleted, I::kWaits, kFinal},
    {S::kCompleted, I::kEntriesLeft, kFinal},
    {S::kCompleted, I::kRunsOpen, kFinal},
    {S::kCompleted, I::kFailed, kFinal},
    {S::kCompleted, I::kAllClosed, kFinal},
    {S::kReleasing, I::kTtlOver, kGoing},
    {S::kReleasing, I::kDone, kGoing},
    {S::kReleasing, I::kLost, kGoing},
    {S::kReleasing, I::kGranted, kGoing},
    {S::kReleasing, I::kMustRelease, kGoing},
    {S::kReleasing, I::kMayClaim, kGoing},
    {S::kReleasing, I::kWaits, kGoing},
    {S::kReleasing, I::kEntriesLeft, kGoing},
    {S::kReleasing, I::kRunsOpen, kGoing},
    {S::kReleasing, I::kFailed, kGoing},
    {S::kReleasing, I::kAllClosed, kGoing},
};

constexpr std::string_view kNames[] = {"Acquire", "Submitting", "AwaitingCompletion", "Completed",
                                       "Releasing"};
constexpr std::string_view kInputNames[] = {
    "deleted",     "nobody names it", "time to live over", "completed",      "Testbed lost",
    "granted",     "must release",    "may claim",         "waits its turn", "entries left",
    "all ordered", "a job failed",    "all runs closed"};
constexpr std::string_view kActionNames[] = {
    "",          "order to run",     "claim the next job",  "release jobs", "note the time",
    "delete it", "release all jobs", "remove the finalizer"};

}  // namespace

std::span<const SchedulingRow> scheduling_rows() { return kRows; }
std::span<const ImpossibleRow> impossible_rows() { return kImpossible; }

const SchedulingRow& scheduling_row(SchedulingState state, SchedulingInput input) {
  const SchedulingRow* found = nullptr;
  for (const SchedulingRow& row : kRows)
    if (row.state == state && row.input == input) found = &row;
  BERTH_CHECK(found != nullptr, "a Scheduling saw what it cannot see in its state");
  return *found;
}

std::string_view name_of(SchedulingState state) { return kNames[static_cast<std::size_t>(state)]; }
std::string_view name_of(SchedulingInput input) {
  return kInputNames[static_cast<std::size_t>(input)];
}
std::string_view name_of(SchedulingAction action) {
  return kActionNames[static_cast<std::size_t>(action)];
}
SchedulingState scheduling_state(std::string_view name) {
  if (name == "Confirmation") return S::kSubmitting;  // reported, for the thesis' sake
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<SchedulingState>(i);
  return S::kAcquire;
}

}  // namespace berth::controllers
