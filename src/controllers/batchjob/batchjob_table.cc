// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/batchjob_table.h"

#include <algorithm>

namespace berth::controllers {
namespace {

using S = JobState;
using I = JobInput;
using A = JobAction;

constexpr std::string_view kStateNames[kJobStates] = {
    "Ready",    "InQueue", "Submitted",       "Scheduled", "Running", "Completing",
    "Retrying", "Failing", "PendingDeletion", "Completed", "Failed"};
constexpr std::string_view kInputNames[kJobInputs] = {
    "released", "claimed", "ordered", "reset",     "not submitted", "pending", "bound",
    "running",  "ended",   "failed",  "exhausted", "waiting",       "left",    "gone"};
constexpr std::string_view kActionNames[] = {
    "",    "open the run", "create",       "note the start",
    "end", "remove",       "next attempt", "close the run"};

constexpr JobRow kRows[] = {
    {S::kReady, I::kReleased, S::kReady, A::kNone},
    {S::kReady, I::kClaimed, S::kInQueue, A::kNone},
    {S::kReady, I::kOrdered, S::kInQueue, A::kNone},
    {S::kReady, I::kReset, S::kReady, A::kNone},

    {S::kInQueue, I::kReleased, S::kReady, A::kNone},
    {S::kInQueue, I::kClaimed, S::kInQueue, A::kNone},
    {S::kInQueue, I::kOrdered, S::kSubmitted, A::kOpenRun},
    {S::kInQueue, I::kReset, S::kInQueue, A::kNone},

    // States may be skipped: whoever was away finds what there is.
    {S::kSubmitted, I::kReleased, S::kPendingDeletion, A::kRemove},
    {S::kSubmitted, I::kNotSubmitted, S::kSubmitted, A::kCreate},
    {S::kSubmitted, I::kPending, S::kSubmitted, A::kNone},
    {S::kSubmitted, I::kBound, S::kScheduled, A::kNone},
    {S::kSubmitted, I::kRunning, S::kRunning, A::kStart},
    {S::kSubmitted, I::kEnded, S::kCompleting, A::kEnd},
    {S::kSubmitted, I::kFailed, S::kRetrying, A::kRemove},
    {S::kSubmitted, I::kExhausted, S::kFailing, A::kEnd},

    {S::kScheduled, I::kReleased, S::kPendingDeletion, A::kRemove},
    {S::kScheduled, I::kNotSubmitted, S::kSubmitted, A::kCreate},
    {S::kScheduled, I::kPending, S::kScheduled, A::kNone},
    {S::kScheduled, I::kBound, S::kScheduled, A::kNone},
    {S::kScheduled, I::kRunning, S::kRunning, A::kStart},
    {S::kScheduled, I::kEnded, S::kCompleting, A::kEnd},
    {S::kScheduled, I::kFailed, S::kRetrying, A::kRemove},
    {S::kScheduled, I::kExhausted, S::kFailing, A::kEnd},

    {S::kRunning, I::kReleased, S::kPendingDeletion, A::kRemove},
    {S::kRunning, I::kNotSubmitted, S::kSubmitted, A::kCreate},
    {S::kRunning, I::kPending, S::kRunning, A::kNone},
    {S::kRunning, I::kBound, S::kRunning, A::kNone},
    {S::kRunning, I::kRunning, S::kRunning, A::kNone},
    {S::kRunning, I::kEnded, S::kCompleting, A::kEnd},
    {S::kRunning, I::kFailed, S::kRetrying, A::kRemove},
    {S::kRunning, I::kExhausted, S::kFailing, A::kEnd},

    {S::kRetrying, I::kReleased, S::kPendingDeletion, A::kRemove},
    {S::kRetrying, I::kLeft, S::kRetrying, A::kRemove},
    {S::kRetrying, I::kWaiting, S::kRetrying, A::kNone},
    {S::kRetrying, I::kGone, S::kSubmitted, A::kNextAttempt},

    {S::kCompleting, I::kLeft, S::kCompleting, A::kRemove},
    {S::kCompleting, I::kGone, S::kCompleted, A::kCloseRun},
    {S::kFailing, I::kLeft, S::kFailing, A::kRemove},
    {S::kFailing, I::kGone, S::kFailed, A::kCloseRun},
    {S::kPendingDeletion, I::kLeft, S::kPendingDeletion, A::kRemove},
    {S::kPendingDeletion, I::kGone, S::kReady, A::kCloseRun},

    {S::kCompleted, I::kReleased, S::kReady, A::kNone},
    {S::kCompleted, I::kClaimed, S::kCompleted, A::kNone},
    {S::kCompleted, I::kOrdered, S::kReady, A::kNone},
    {S::kCompleted, I::kReset, S::kReady, A::kNone},
    {S::kFailed, I::kReleased, S::kReady, A::kNone},
    {S::kFailed, I::kClaimed, S::kFailed, A::kNone},
    {S::kFailed, I::kOrdered, S::kReady, A::kNone},
    {S::kFailed, I::kReset, S::kReady, A::kNone},
};

bool open(S state) { return state >= S::kSubmitted && state <= S::kPendingDeletion; }
bool ends(S state) {
  return state == S::kCompleting || state == S::kFailing || state == S::kPendingDeletion;
}

}  // namespace

std::string_view name_of(JobState state) { return kStateNames[static_cast<int>(state)]; }
std::string_view name_of(JobInput input) { return kInputNames[static_cast<int>(input)]; }
std::string_view name_of(JobAction action) { return kActionNames[static_cast<int>(action)]; }

std::optional<JobState> job_state(std::string_view name) {
  const auto* found = std::find(std::begin(kStateNames), std::end(kStateNames), name);
  if (found == std::end(kStateNames)) return std::nullopt;
  return static_cast<JobState>(found - std::begin(kStateNames));
}

std::span<const JobRow> job_rows() { return kRows; }

const JobRow* job_row(JobState state, JobInput input) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows), [&](const JobRow& row) {
    return row.state == state && row.input == input;
  });
  return found == std::end(kRows) ? nullptr : found;
}

std::string_view why_impossible(JobState state, JobInput input) {
  if (job_row(state, input) != nullptr) return {};
  const bool of_closed = input == I::kClaimed || input == I::kOrdered || input == I::kReset;
  if (open(state) && of_closed) return "what is ordered next is looked at once the run is closed";
  if (ends(state)) return "a run that ends only waits for all of it to be gone";
  if (state == S::kRetrying) return "the last attempt is over; its application only has to go";
  if (open(state)) return "what is gone or left is asked of attempts that are over";
  return "there is no application without an open run";
}

}  // namespace berth::controllers
