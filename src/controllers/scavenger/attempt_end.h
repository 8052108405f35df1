// SPDX-License-Identifier: Apache-2.0
// The end of an attempt as one change of the status: verdict, number, count, times, work done and
// lost. Written once, before anything of the evidence goes.
#pragma once

#include "controllers/scavenger/checkpoints.h"
#include "controllers/scavenger/evidence.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/status.h"
#include "kube/ours/scavenger_policy_view.h"
#include "policy/scavenge/verdict.h"

namespace berth::controllers {

struct AttemptEnd {
  AttemptEnd(const kube::ScavengerJobView&, const AttemptSight&, WallTime now);

  scavenge::Judgement judgement;
  WallTime at;                            // as the pod that was judged tells it
  Begun began;                            // whoever was away did not see it run
  std::vector<const kube::Object*> pods;  // of the attempt
  std::optional<int> exit_code;
  std::optional<CheckpointReport> report = {};  // that nobody has written down yet
};

struct Closing {
  const kube::ScavengerJobView& job;
  const kube::ScavengerPolicy& policy;
  const Members& members;
  bool never_ran = false;  // as far as the status says
  bool acked = false;      // it has checkpointed when it was asked
  int times = 1;           // an interruption counts; anything but 1 is a planted fault
};
void close_attempt(const Closing&, const AttemptEnd&, StatusDraft&, Conditions&, WallTime now);

void add_running(StatusDraft&, WallTime since);
std::optional<WallTime> last_time(json::Slice list);
scavenge::CostBasis basis_of(const kube::ScavengerJobView&, const kube::ScavengerPolicy&,
                             const Members&, WallTime since, const kube::Object* job);
// A report moves the basis and is counted.
void take_report(StatusDraft&, scavenge::CostBasis&, const CheckpointReport&);

}  // namespace berth::controllers
