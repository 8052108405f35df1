// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/scavenger_table.h"

#include <algorithm>

namespace berth::controllers {
namespace {

using S = ScavengerState;
using I = ScavengerInput;
using A = ScavengerAction;

constexpr std::string_view kStateNames[kScavengerStates] = {
    "New", "Waiting", "Starting", "Running", "Reclaiming", "Closing", "Completed", "Failed"};
constexpr std::string_view kInputNames[kScavengerInputs] = {
    "quiet",     "deleted",     "unchecked", "missing", "ready", "chosen",
    "no job",    "all run",     "hung",      "step",    "asked", "reclaim due",
    "withdrawn", "interrupted", "done",      "broken",  "left"};
constexpr std::string_view kActionNames[] = {
    "",    "enqueue",  "create the Job", "note the start", "write the cost",
    "ask", "withdraw", "close",          "remove",         "release",
    "fail"};

constexpr ScavengerRow kRows[] = {
    {S::kNew, I::kDeleted, S::kNew, A::kRelease},
    {S::kNew, I::kUnchecked, S::kNew, A::kNone},
    {S::kNew, I::kMissing, S::kFailed, A::kFail},
    {S::kNew, I::kReady, S::kWaiting, A::kEnqueue},

    {S::kWaiting, I::kQuiet, S::kWaiting, A::kNone},
    {S::kWaiting, I::kDeleted, S::kWaiting, A::kRelease},
    {S::kWaiting, I::kChosen, S::kStarting, A::kNone},
    {S::kWaiting, I::kLeft, S::kWaiting, A::kRemove},

    {S::kStarting, I::kQuiet, S::kStarting, A::kNone},
    {S::kStarting, I::kDeleted, S::kStarting, A::kRelease},
    {S::kStarting, I::kUnchecked, S::kStarting, A::kNone},
    {S::kStarting, I::kMissing, S::kFailed, A::kClose},
    {S::kStarting, I::kNoJob, S::kStarting, A::kCreate},
    {S::kStarting, I::kAllRunning, S::kRunning, A::kNoteStart},
    {S::kStarting, I::kHung, S::kClosing, A::kClose},
    {S::kStarting, I::kReclaimDue, S::kClosing, A::kClose},
    {S::kStarting, I::kInterrupted, S::kClosing, A::kClose},
    {S::kStarting, I::kDone, S::kCompleted, A::kClose},
    {S::kStarting, I::kBroken, S::kFailed, A::kClose},

    {S::kRunning, I::kQuiet, S::kRunning, A::kNone},
    {S::kRunning, I::kDeleted, S::kRunning, A::kRelease},
    {S::kRunning, I::kUnchecked, S::kRunning, A::kNone},
    {S::kRunning, I::kStep, S::kRunning, A::kWriteCost},
    {S::kRunning, I::kAsked, S::kReclaiming, A::kAsk},
    {S::kRunning, I::kReclaimDue, S::kClosing, A::kClose},
    {S::kRunning, I::kInterrupted, S::kClosing, A::kClose},
    {S::kRunning, I::kDone, S::kCompleted, A::kClose},
    {S::kRunning, I::kBroken, S::kFailed, A::kClose},

    {S::kReclaiming, I::kQuiet, S::kReclaiming, A::kNone},
    {S::kReclaiming, I::kDeleted, S::kReclaiming, A::kRelease},
    {S::kReclaiming, I::kUnchecked, S::kReclaiming, A::kNone},
    {S::kReclaiming, I::kReclaimDue, S::kClosing, A::kClose},
    {S::kReclaiming, I::kWithdrawn, S::kRunning, A::kWithdraw},
    {S::kReclaiming, I::kInterrupted, S::kClosing, A::kClose},
    {S::kReclaiming, I::kDone, S::kCompleted, A::kClose},
    {S::kReclaiming, I::kBroken, S::kFailed, A::kClose},

    {S::kClosing, I::kDeleted, S::kClosing, A::kRelease},
    {S::kClosing, I::kUnchecked, S::kClosing, A::kNone},
    {S::kClosing, I::kLeft, S::kClosing, A::kRemove},
    {S::kClosing, I::kMissing, S::kFailed, A::kFail},
    {S::kClosing, I::kReady, S::kWaiting, A::kEnqueue},

    {S::kCompleted, I::kQuiet, S::kCompleted, A::kNone},
    {S::kCompleted, I::kDeleted, S::kCompleted, A::kRelease},
    {S::kCompleted, I::kLeft, S::kCompleted, A::kRemove},
    {S::kFailed, I::kQuiet, S::kFailed, A::kNone},
    {S::kFailed, I::kDeleted, S::kFailed, A::kRelease},
    {S::kFailed, I::kLeft, S::kFailed, A::kRemove},
};

bool open(S state) { return state >= S::kStarting && state <= S::kReclaiming; }

}  // namespace

std::string_view name_of(ScavengerState state) { return kStateNames[static_cast<int>(state)]; }
std::string_view name_of(ScavengerInput input) { return kInputNames[static_cast<int>(input)]; }
std::string_view name_of(ScavengerAction action) { return kActionNames[static_cast<int>(action)]; }

std::span<const ScavengerRow> scavenger_rows() { return kRows; }

const ScavengerRow* scavenger_row(ScavengerState state, ScavengerInput input) {
  const auto* found = std::find_if(
      std::begin(kRows), std::end(kRows),
      [&](const ScavengerRow& row) { return row.state == state && row.input == input; });
  return found == std::end(kRows) ? nullptr : found;
}

std::string_view why_impossible(ScavengerState state, ScavengerInput input) {
  if (scavenger_row(state, input) != nullptr) return {};
  if (state == S::kCompleted || state == S::kFailed) return "it is over; only what is left goes";
  const bool of_run = input == I::kStep || input == I::kAsked || input == I::kWithdrawn;
  const bool of_start = input == I::kNoJob || input == I::kAllRunning || input == I::kHung;
  if (open(state) && of_run)
    return state == S::kReclaiming ? "what is written then is the answer alone"
                                   : "what does not run yet has nothing to lose and nothing to ask";
  if (open(state) && of_start) return "it has started";
  if (open(state))
    return input == I::kMissing ? "what is mounted is looked for before a start"
                                : "an open attempt is carried on or closed, nothing else";
  if (state == S::kWaiting) return "what it mounts was looked for, and no attempt is open";
  return "no attempt is open; what it mounts decides, and what is left of the last";
}

}  // namespace berth::controllers
