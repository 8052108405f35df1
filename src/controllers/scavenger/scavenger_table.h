// SPDX-License-Identifier: Apache-2.0
// The life of a ScavengerJob as rows: state, what is seen, next state, what is done. They drive the
// controller, the diagram in the docs and a test that every case is thought of. A state is read off
// the status, so whoever starts anew is in the same one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::controllers {

enum class ScavengerState : std::uint8_t {
  kNew,         // what it mounts was not looked for yet
  kWaiting,     // for the queue
  kStarting,    // an attempt is open, not all of its members run
  kRunning,     // all of them do, or did
  kReclaiming,  // it was asked for a checkpoint
  kClosing,     // the verdict is written, pods of the attempt are left
  kCompleted,
  kFailed,
};
inline constexpr int kScavengerStates = 8;
std::string_view name_of(ScavengerState);

enum class ScavengerInput : std::uint8_t {
  kQuiet,       // nothing is due
  kDeleted,     // by its owner: it only lets go
  kUnchecked,   // an answer is on its way
  kMissing,     // something that it mounts
  kReady,       // to wait for its turn: all it mounts is there, nothing of the last attempt is left
  kChosen,      // the queue has opened an attempt
  kNoJob,       // there is no Job of the open attempt yet
  kAllRunning,  // every member
  kHung,        // a member was not placed for too long
  kStep,        // of the sawtooth is due, or a checkpoint was reported
  kAsked,       // somebody needs its room
  kReclaimDue,  // it has checkpointed, or its notice is over
  kWithdrawn,   // nobody needs its room any more
  kInterrupted,  // the attempt was ended by somebody else
  kDone,         // it ended well
  kBroken,       // it ended by its own fault
  kLeft,         // something of a closed attempt is left
};
inline constexpr int kScavengerInputs = 17;
std::string_view name_of(ScavengerInput);

enum class ScavengerAction : std::uint8_t {
  kNone,
  kEnqueue,    // write since when it waits
  kCreate,     // the Job
  kNoteStart,  // the time of it, and what its loss would cost
  kWriteCost,
  kAsk,       // for a checkpoint, and make it smaller where it can be
  kWithdraw,  // the question
  kClose,     // verdict, count and number of the attempt in one write; then the Job goes
  kRemove,    // what is left: Job, pods, finalizers of pods that have ended
  kRelease,   // the finalizers
  kFail,      // without an attempt
};
std::string_view name_of(ScavengerAction);

struct ScavengerRow {
  ScavengerState state;
  ScavengerInput input;
  ScavengerState next;
  ScavengerAction action;
};
std::span<const ScavengerRow> scavenger_rows();
// Null: it cannot be.
const ScavengerRow* scavenger_row(ScavengerState, ScavengerInput);
// Why there is no row; "" where there is one.
std::string_view why_impossible(ScavengerState, ScavengerInput);

}  // namespace berth::controllers
