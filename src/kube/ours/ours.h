// SPDX-License-Identifier: Apache-2.0
// The kinds that Berth defines, and the names that its parts meet by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/kind.h"
#include "kube/object.h"
#include "kube/ours/kind_spec.h"

namespace berth::kube {

inline constexpr std::string_view kThesisGroup = "batchjob.gcr.io";
// The group of the thesis' later code: further definitions of the same kinds. Nothing is mirrored;
// an object refers within its group.
inline constexpr std::string_view kAliasGroup = "esi.tu-berlin.de";

// The group of the first scavenger operator: its objects are ours, with spec.job.
inline constexpr std::string_view kCeritGroup = "core.cerit.cz", kCeritVersion = "v1";

KindSpec testbed_kind();
KindSpec batch_job_kind();
KindSpec scheduling_kind();
KindSpec slot_ledger_kind();
KindSpec scavenger_job_kind();
KindSpec scavenger_policy_kind();
KindSpec scavenger_quota_kind();
KindSpec gromacs_to_tune_kind();
std::vector<KindSpec> our_kinds();  // all of them: slots, their aliases, scavengers and theirs

// What must be there before the first object of ours: definitions and priority classes, as JSON.
std::vector<std::string> our_first_objects();

// The kinds that belong together, for whoever works in either group. Immutable.
struct SlotKinds {
  KindId testbed{}, batch_job{}, scheduling{};
  KindId ledger{};  // has namespace and name of its Testbed
};
const SlotKinds& thesis_kinds();
const SlotKinds& alias_kinds();

// The same for scavengers: of the other group only the job differs. Immutable.
struct ScavengerKinds {
  KindId job{};
  KindId policy{};  // of the cluster
  KindId quota{}, gromacs{};
};
const ScavengerKinds& scavenger_kinds();
const ScavengerKinds& cerit_kinds();

// Ghosts lie above every ordinary pod, executors above ghosts.
inline constexpr std::string_view kGhostClass = "berth-ghost", kExecutorClass = "berth-executor";
inline constexpr std::int32_t kGhostPriority = 100'000, kExecutorPriority = 100'001;

// Scavengers lie below every pod that anybody has, also those that were there before us.
inline constexpr std::string_view kScavengerClass = "scavenger",
                                  kStarvedClass = "scavenger-starved",
                                  kPoliteClass = "ordinary-polite";
inline constexpr std::int32_t kScavengerPriority = -1'000, kStarvedPriority = -999,
                              kPolitePriority = 0;
inline constexpr std::string_view kScavengerPolicyName = "default";  // the one that counts

// On a scavenger's Job and pods: the uid of the ScavengerJob. Doors do not trust it; they join by
// status.jobUid.
inline constexpr std::string_view kScavengerLabel = "berth.dev/scavenger";
inline constexpr std::string_view kAccountingFinalizer = "berth.dev/accounting";  // on its pods
inline constexpr std::string_view kCheckpointAnnotation =
                                      "berth.dev/checkpoint",  // pod: when, as the program says
    kCheckpointRequestedAnnotation = "berth.dev/checkpoint-requested",  // pod: the deadline
    kReclaimAnnotation = "berth.dev/reclaim",       // ScavengerJob: {"for", "uid", "deadline"}
    kDecidedAtAnnotation = "berth.dev/decided-at";  // Job: the revision its start was decided on

// On pods.
inline constexpr std::string_view kSlotAnnotation = "berth.dev/slot";  // bound with the pod
inline constexpr std::string_view kGrantLabel = "berth.dev/grant";
// The thesis' labels.
inline constexpr std::string_view kTestbedLabel = "batchjob.tuberlin.de/slots-resource-name";
inline constexpr std::string_view kGhostLabel = "batchjob.tuberlin.de/slots-is-ghost-pod";
inline constexpr std::string_view kSlotIdLabel = "batchjob.tuberlin.de/slots-id";
inline constexpr std::string_view kTargetNodeLabel = "batchjob.tuberlin.de/slots-target-node";
inline constexpr std::string_view kPreemptedByLabel =
    "batchjob.tuberlin.de/slots-ghost-pod-will-be-preempted-by";
inline constexpr std::string_view kGenerationAnnotation =
    "batchjob.tuberlin.de/slots-latest-observed-resource-version";
// Of ghosts: the Testbed's namespace is the pod's; the slot's number is in kSlotAnnotation.

inline constexpr std::string_view kLedgerFinalizer = "berth.dev/ledger";
inline constexpr std::string_view kSchedulingFinalizer = "berth.dev/scheduling";
inline constexpr std::string_view kBatchJobFinalizer = "berth.dev/batchjob";

}  // namespace berth::kube
