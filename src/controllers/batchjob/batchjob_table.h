// SPDX-License-Identifier: Apache-2.0
// The life of a BatchJob as rows: state, what is seen, next state, what is done. They drive the
// controller, the diagram in the docs and a test that every case is thought of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace berth::controllers {

enum class JobState : std::uint8_t {
  kReady,
  kInQueue,
  kSubmitted,
  kScheduled,
  kRunning,
  kCompleting,
  kRetrying,
  kFailing,
  kPendingDeletion,
  kCompleted,
  kFailed,
};
inline constexpr int kJobStates = 11;
std::string_view name_of(JobState);
std::optional<JobState> job_state(std::string_view name);

enum class JobInput : std::uint8_t {
  kReleased,      // nobody claims it, or it is being deleted
  kClaimed,       // and nothing is ordered yet
  kOrdered,       // an order that was not carried out, with its slots granted
  kReset,         // a person wants it to begin anew
  kNotSubmitted,  // the run is open; there is no application yet
  kPending,       // the application is there, not all of its executors are bound
  kBound,         // all of them are
  kRunning,
  kEnded,      // the application says it is done
  kFailed,     // it failed or somebody took it away; there is another attempt
  kExhausted,  // the same, and there is none
  kWaiting,    // all is gone; it is not yet time for the next attempt
  kLeft,       // the application or an executor is still there
  kGone,       // neither is
};
inline constexpr int kJobInputs = 14;
std::string_view name_of(JobInput);

enum class JobAction : std::uint8_t {
  kNone,
  kOpenRun,      // write the run's number ahead of the application
  kCreate,       // the application
  kStart,        // the time of it
  kEnd,          // the time of it, and the application goes
  kRemove,       // the application goes
  kNextAttempt,  // the application once more
  kCloseRun,     // write it into the history; the order is done
};
std::string_view name_of(JobAction);

struct JobRow {
  JobState state;
  JobInput input;
  JobState next;
  JobAction action;
};
std::span<const JobRow> job_rows();
// Null: it cannot be.
const JobRow* job_row(JobState, JobInput);
// "a claim ends with the run" and the like: why there is no row; "" where there is one.
std::string_view why_impossible(JobState, JobInput);

}  // namespace berth::controllers
