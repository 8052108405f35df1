// SPDX-License-Identifier: Apache-2.0
// How an attempt of a scavenger job ended: told from the pods that its finalizer has kept, then
// from its Job, so that the answer is the same if nobody looked for ten minutes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace berth::scavenge {

inline constexpr int kCheckpointExit = 85;  // "checkpointed, start me again"

enum class Verdict : std::uint8_t { kNone, kCompleted, kFailed, kInterrupted, kHung };
std::string_view text_of(Verdict);

struct PodEvidence {
  std::string name = {}, uid = {};
  std::string phase = {};  // of the pod
  std::optional<int> exit_code = {};
  std::optional<WallTime> container_end = {};
  bool oom_killed = false;
  std::string termination_message = {};
  bool disruption_target = false;            // condition True
  std::string disruption_reason = {};        // PreemptionByScheduler, EvictionByEvictionAPI …
  std::optional<WallTime> deletion_at = {};  // metadata.deletionTimestamp
  std::int64_t grace_seconds = 0;            // metadata.deletionGracePeriodSeconds
  bool ended_unasked = false;  // its kubelet told the end before it knew of the deletion
  bool node_gone = false;
};
struct JobEvidence {
  bool exists = false;
  bool complete = false;              // condition Complete or SuccessCriteriaMet
  bool failing = false;               // condition FailureTarget or Failed
  std::string cause_pod = {};         // the pod that FailureTarget names
  int rule = -1;                      // the index of the failure rule that matched, by the message
  std::optional<int> exit_code = {};  // that the message names
  std::string message = {};
};
// Reads FailureTarget's words: "Container x for pod ns/name failed with exit code 1 matching
// FailJob rule at index 2", "Pod ns/name has condition DisruptionTarget matching FailJob rule at
// index 0".
void read_failure_message(JobEvidence&, std::string_view message);

struct AttemptEvidence {
  bool ended_by_us = false, hung = false;  // the status says that it was our doing
  bool exit_code_is_proof = false;         // completionProof: ExitCodeOnly
  int members = 0;                         // how many pods there have to be; 0: not known
  JobEvidence job = {};
  std::vector<PodEvidence> pods = {};
  // A job of one member that was deleted may still prove within its grace period that it is done,
  // and is waited for until then. Absent: it is judged at once.
  std::optional<WallTime> now = {};
};
struct Judgement {
  Verdict verdict = Verdict::kNone;   // none: it goes on
  std::string reason = {};            // of the condition: Preempted, Evicted, NodeLost, Deleted …
  std::string message = {};           // names pod, exit code
  std::string pod = {};               // the one that was judged
  std::optional<int> exit_code = {};  // of that pod
  std::optional<WallTime> checkpoint = {};  // exit 85: its end
  std::optional<WallTime> look_again = {};  // none yet, but time alone will tell
};
// First row that matches, of the table in docs/scavengers.md. A condition DisruptionTarget counts
// once its pod is being deleted or has ended: Kubernetes takes back one that nothing came of.
Judgement judge(const AttemptEvidence&);

// The container's end does not come before the deletion was asked for, or there is none. Where
// nobody can tell any more, it did: a run too many costs less than one that is never tried again.
bool deleted_while_running(const PodEvidence&);

}  // namespace berth::scavenge
