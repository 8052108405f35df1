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
     "Let Berth's webhooks or the application's operator change pods, so that executors get their "
     "class; or use Berth's own scheduler."},
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
    {"Scheduling", "Acquired", kAcquiring, ""},
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
    {"ScavengerJob", "Admitted", kAdmitted, ""},
    {"ScavengerJob", "Admitted", kTurn, "Wait: others were interrupted more often, or are older."},
    {"ScavengerJob", "Admitted", kThreshold,
     "Wait until the cluster is less busy, ask for less, or raise thresholdPercent in the "
     "ScavengerPolicy."},
    {"ScavengerJob", "Admitted", kOverQuota,
     "Wait until scavenger jobs of the namespace end, or raise its ScavengerQuota."},
    {"ScavengerJob", "Admitted", kNoFit,
     "No set of nodes has the room: ask for fewer or smaller members, or wait."},
    {"ScavengerJob", "Admitted", kBackingOff,
     "Wait: it was interrupted or found no place a moment ago, and is tried again later."},
    {"ScavengerJob", "Admitted", kReserved,
     "Wait: the nodes it would fit on are reserved for a job that has waited longer."},
    {"ScavengerJob", "Complete", kMissingReference,
     "Create the claim, ConfigMap or Secret that is named, then create the job again."},
    {"ScavengerJob", "Complete", kInvalidJob, "Mend what is named, then create the job again."},
    {"ScavengerJob", "Running", kStarting, ""},
    {"ScavengerJob", "Running", kRunning, ""},
    {"ScavengerJob", "Running", kReclaimRequested,
     "Nothing is needed: a program that checkpoints now loses nothing."},
    {"ScavengerJob", "Running", kReclaimed,
     "Nothing is needed: its room was wanted, and it starts again when there is some."},
    {"ScavengerJob", "Running", kPreempted,
     "Nothing is needed: a pod with more priority got the room, and it starts again."},
    {"ScavengerJob", "Running", kEvicted,
     "Nothing is needed: somebody evicted a pod of it, and it starts again."},
    {"ScavengerJob", "Running", kNodeLost,
     "Nothing is needed if the node comes back or is deleted. To start again without waiting for "
     "that, set lostNode: Restart."},
    {"ScavengerJob", "Running", kDeleted,
     "Nothing is needed: somebody deleted a pod of it, and it starts again. To stop it, delete the "
     "ScavengerJob."},
    {"ScavengerJob", "Running", kCheckpointExit,
     "Nothing is needed: the program asked to be started again from its checkpoint."},
    {"ScavengerJob", "Running", kVanished,
     "Nothing is needed: its Job and pods were taken away, and it starts again."},
    {"ScavengerJob", "Running", kHung,
     "It did not come to run within startGrace and is tried again. If that goes on, look at what "
     "the message says: of nodes (affinity, taints, claims bound elsewhere), of its image, or of "
     "what its namespace allows."},
    {"ScavengerJob", "Complete", kAppFailed,
     "Read the log of the pod that is named; a scavenger job that failed by itself is not started "
     "again. Mend it and create it anew."},
    {"ScavengerJob", "Complete", kOomKilled,
     "It used more memory than its limit: raise resources, and create it anew."},
    {"ScavengerJob", "Complete", kCompleted, ""},
    {"GromacsToTune", "Running", kTrying, ""},
    {"GromacsToTune", "Running", kRunning, ""},
    {"GromacsToTune", "Running", kInvalidJob,
     "Mend spec.scavengerJob, or the sizes, as the message says; it is tried again."},
    {"GromacsToTune", "Running", kNoSizeFits,
     "Add a smaller size, or wait: the sizes are tried again from the largest."},
    {"GromacsToTune", "Complete", kCompleted, ""},
    {"GromacsToTune", "Complete", kAppFailed,
     "Read the log of the ScavengerJob that is named, mend it, and create this anew."},
};

}  // namespace

std::span<const ReasonRow> reason_rows() { return kRows; }

std::string_view remedy_for(std::string_view kind, std::string_view reason) {
  for (const ReasonRow& row : kRows)
    if (row.kind == kind && row.reason == reason) return row.remedy;
  return {};
}

}  // namespace berth::kube
