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

KindSpec testbed_kind();
KindSpec batch_job_kind();
KindSpec scheduling_kind();
KindSpec slot_ledger_kind();
std::vector<KindSpec> our_kinds();  // all of them, the aliases last

// What must be there before the first Testbed: definitions and priority classes, as JSON.
std::vector<std::string> our_first_objects();

// The kinds that belong together, for whoever works in either group. Immutable.
struct SlotKinds {
  KindId testbed{}, batch_job{}, scheduling{};
  KindId ledger{};  // has namespace and name of its Testbed
};
const SlotKinds& thesis_kinds();
const SlotKinds& alias_kinds();

// Ghosts lie above every ordinary pod, executors above ghosts.
inline constexpr std::string_view kGhostClass = "berth-ghost", kExecutorClass = "berth-executor";
inline constexpr std::int32_t kGhostPriority = 100'000, kExecutorPriority = 100'001;

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
