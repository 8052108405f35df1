// SPDX-License-Identifier: Apache-2.0
// What objects tell of an attempt: its Job (or MPIJob), and the pods that the finalizer has kept.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/ours/scavenger_job_view.h"
#include "policy/scavenge/verdict.h"

namespace berth::controllers {

// Pods of one attempt, as seen at one moment. Pointers into a View, or into an answer.
struct AttemptSight {
  const kube::Object* job = nullptr;  // null: there is none
  std::vector<const kube::Object*> pods = {};
  std::set<std::string, std::less<>> lost_nodes = {};  // that are known not to exist
  int members = 0;                                     // that there are to be; 0: not known
  std::optional<WallTime> now = {};
};

// Is the pod of the Job with this uid? Of an MPIJob the launcher is too, whose Job has the name.
bool pod_of_attempt(const kube::Object& pod, std::string_view job_uid, std::string_view job_name);

scavenge::AttemptEvidence evidence_of(const kube::ScavengerJobView&, const AttemptSight&);

// How many members have begun, and when the last of them did.
struct Begun {
  int members = 0;
  std::optional<WallTime> last = {};
};
Begun begun(const AttemptSight&);

// When it ended, as far as the pod that was judged tells.
std::optional<WallTime> end_of(const scavenge::AttemptEvidence&, std::string_view pod);
std::optional<int> exit_of(const scavenge::AttemptEvidence&, std::string_view pod);

}  // namespace berth::controllers
