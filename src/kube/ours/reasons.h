// SPDX-License-Identifier: Apache-2.0
// Why something of ours is not as it should be, and what to do about it: one table for conditions,
// events, `berth explain` and the pages.
#pragma once

#include <span>
#include <string_view>

namespace berth::kube {

struct ReasonRow {
  std::string_view kind;  // that has the condition
  std::string_view type;  // of the condition
  std::string_view reason;
  std::string_view remedy;  // a sentence; "": nothing is wrong
};
std::span<const ReasonRow> reason_rows();
// "" where the reason is not in the table, or where nothing is wrong.
std::string_view remedy_for(std::string_view kind, std::string_view reason);

namespace reason {
inline constexpr std::string_view
    // Testbed
    kHeld = "Held",
    kHoldPending = "HoldPending", kNodeConflict = "NodeConflict", kNoRoom = "NoRoom",
    kQuotaExceeded = "QuotaExceeded", kNodeLabelNotInteger = "NodeLabelNotInteger",
    kResizePending = "ResizePending", kIdleShrunk = "IdleShrunk",
    kSlotsPreemptible = "SlotsPreemptible", kWeakHold = "WeakHold", kLedgerFull = "LedgerFull",
    kNoNodes = "NoNodes", kNoConflict = "NoConflict",
    // BatchJob
    kWaitingForSlots = "WaitingForSlots", kSlotsTaken = "SlotsTaken", kKindUnknown = "KindUnknown",
    kSubmissionFailed = "SubmissionFailed", kApplicationFailed = "ApplicationFailed",
    kRetriesExhausted = "RetriesExhausted", kExecutorLost = "ExecutorLost",
    // Scheduling
    kAcquiring = "Acquiring", kAcquired = "Acquired", kRunning = "Running",
    kAllComplete = "AllComplete", kReleasing = "Releasing", kJobNotFound = "JobNotFound",
    kJobHeld = "JobHeld", kTestbedHeld = "TestbedHeld", kTestbedNotFound = "TestbedNotFound",
    kNotFirst = "NotFirst", kInvalidSlot = "InvalidSlot", kDuplicateJob = "DuplicateJob",
    kJobFailed = "JobFailed", kStalled = "Stalled", kWaitingForCapacity = "WaitingForCapacity",
    // ScavengerJob: while it waits
    kAdmitted = "Admitted", kTurn = "Turn", kThreshold = "Threshold", kOverQuota = "OverQuota",
    kNoFit = "NoFit", kBackingOff = "BackingOff", kReserved = "Reserved",
    kMissingReference = "MissingReference",
    // how a run goes and ends
    kStarting = "Starting", kReclaimRequested = "ReclaimRequested", kPreempted = "Preempted",
    kEvicted = "Evicted", kNodeLost = "NodeLost", kDeleted = "Deleted",
    kCheckpointExit = "CheckpointExit", kReclaimed = "Reclaimed", kVanished = "Vanished",
    kHung = "Hung", kSnapshot = "Snapshot", kAppFailed = "AppFailed", kOomKilled = "OOMKilled",
    kCompleted = "Completed", kInvalidJob = "InvalidJob",
    // GromacsToTune
    kTrying = "Trying", kNoSizeFits = "NoSizeFits";
}  // namespace reason

}  // namespace berth::kube
