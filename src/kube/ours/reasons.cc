// SPDX-License-Identifier: Apache-2.0
#include "kube/ours/reasons.h"

namespace berth::kube {
namespace {

using namespace reason;  // NOLINT: the table is made of them

constexpr ReasonRow kRows[] = {
    {"Testbed", "Ready", kHeld, ""},
    {"Testbed", "Conflicted", kNoConflict, ""},
    {"Testbed", "Ready", kNoNodes,
     "Give the nodes that are to take part the label spec.nodeLabel names, with 0, 1, 2, … as its "
     "value."},
    {"Testbed", "Ready", kHoldPending,
     "Wait a few seconds. If it lasts, look at the events of the ghost pods that are Pending."},
    {"Testbed", "Conflicted", kNodeConflict,
     "An older Testbed has the room on these nodes: make one of them smaller, or take its label "
     "off the nodes."},
    {"Testbed", "Ready", kNoRoom,
     "Make the slots smaller or fewer, move other pods off the nodes named, or take the label off "
     "them."},
    {"Testbed", "Ready", kQuotaExceeded,
     "Raise the ResourceQuota of the Testbed's namespace, or make the Testbed smaller."},
    {"Testbed", "Ready", kNodeLabelNotInteger,
     "Give the label an integer on the nodes named; until then they come last, by name."},
    {"Testbed", "Ready", kResizePending,
     "Nothing is needed: slots that are occupied change their size once their pod ends."},
    {"Testbed", "Ready", kIdleShrunk, "Create a Scheduling and the Testbed grows again."},
    {"Testbed", "Ready", kSlotsPreemptible,
     "A priority class lies above ghost pods, so its pods can take slots: lower it under 100,000."},
    {"Testbed", "Ready", kWeakHold,
     "Turn on the pod webhook of the application's operator, or use Berth's own scheduler."},
    {"Testbed", "Ready", kLedgerFull,
     "Split the Testbed: the object that says who has which slot has reached its largest size."},
    {"BatchJob", "Ready", kWaitingForSlots,
     "Wait, or look at the Scheduling: it says which slots are missing."},
    {"BatchJob", "Ready", kSlotsTaken,
     "Order other slots, or wait until the job that holds them has ended."},
    {"BatchJob", "Ready", kKindUnknown,
     "Install the operator of the application, or add its job kind as a ConfigMap."},
    {"BatchJob", "Degraded", kSubmissionFailed,
     "Read the application's own status and mend the spec in the BatchJob."},
    {"BatchJob", "Degraded", kApplicationFailed,
     "Read the driver's log; then reset the job, or give it a retryPolicy."},
    {"BatchJob", "Degraded", kRetriesExhausted, "Mend the application, then reset the job."},
    {"BatchJob", "Degraded", kExecutorLost,
     "Nothing is needed if the application replaces it; its slot is kept."},
    {"Scheduling", "Acquired", kAcquired, ""},
    {"Scheduling", "Progressing", kRunning, ""},
    {"Scheduling", "Complete", kAllComplete, ""},
    {"Scheduling", "Progressing", kReleasing, ""},
    {"Scheduling", "Acquired", kJobNotFound,
     "Create the BatchJob that is named, or take it out of the Scheduling."},
    {"Scheduling", "Acquired", kJobHeld, "Wait, or delete the Scheduling that holds the job."},
    {"Scheduling", "Acquired", kTestbedHeld,
     "Wait, delete the Scheduling that has the Testbed, or set sharing: Shared on the Testbed."},
    {"Scheduling", "Acquired", kTestbedNotFound, "Create the Testbed that is named."},
    {"Scheduling", "Acquired", kNotFirst,
     "Wait: an older Scheduling wants the same and goes first."},
    {"Scheduling", "Progressing", kInvalidSlot,
     "Use slot numbers that the Testbed has, of the class the job needs."},
    {"Scheduling", "Progressing", kDuplicateJob, "Name each job once, with all of its slots."},
    {"Scheduling", "Progressing", kJobFailed,
     "Mend and reset the job, set onFailure: Continue, or delete the Scheduling."},
    {"Scheduling", "Progressing", kStalled,
     "Executors do not get to their slots: look at the pods of the job that is named."},
    {"Scheduling", "Progressing", kWaitingForCapacity,
     "Wait until slots become free, or make the Testbed larger."},
    {"Scheduling", "Progressing", kQuotaExceeded,
     "Wait until jobs of the namespace end, or raise its quota in the Testbed."},
};

}  // namespace

std::span<const ReasonRow> reason_rows() { return kRows; }

std::string_view remedy_for(std::string_view kind, std::string_view reason) {
  for (const ReasonRow& row : kRows)
    if (row.kind == kind && row.reason == reason) return row.remedy;
  return {};
}

}  // namespace berth::kube
