// SPDX-License-Identifier: Apache-2.0
// What there is of a ScavengerJob: the Job and pods of its open attempt, and what is left of closed
// ones. From caches, and where that must not be old, from answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/scavenger/evidence.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::controllers {

// Lives as long as the View.
class ScavengerSight {
 public:
  ScavengerSight(const runtime::View&, const kube::ScavengerJobView&, int members, WallTime now);

  kube::KindId job_kind() const { return job_kind_; }
  const std::string& job_name() const { return job_name_; }
  // Of the attempt that was opened last, by the caches.
  const AttemptSight& attempt() const { return attempt_; }
  // An object of another stands where this attempt's Job is to be.
  bool name_is_taken() const { return name_is_taken_; }
  std::string launcher_uid() const;  // of the Job of an MPIJob's launcher; "": not seen
  bool stray_pods() const;           // live pods of a Job of that name, while there is none
  // Learns from answers which nodes of pods are gone. False: a node that no cache has was not asked
  // for yet.
  bool knows_nodes();

  // The same past the caches. Pods are read before the Job: what the Job's controller did to them
  // it has noted in the Job before.
  struct Live {
    AttemptSight attempt;
    bool failed = false;  // the server did not answer
  };
  std::optional<Live> live() const;  // none: ask first
  // Pods, Job and nodes: answers are there for one run only, so all are asked at once.
  void ask(runtime::Plan&) const;

  // What closed attempts left: Jobs that are still there, and pods.
  const std::vector<const kube::Object*>& old_jobs() const { return old_jobs_; }
  const std::vector<const kube::Object*>& old_pods() const { return old_pods_; }
  // It runs no more, or nobody waits for it: its node is gone, or silent where that is enough.
  bool over(const kube::Object& pod) const;
  // The answer to ask(): is a pod of a closed attempt alive? none: ask first.
  std::optional<bool> alive_for_sure() const;

 private:
  const runtime::View& view_;
  const kube::ScavengerJobView& job_;
  kube::KindId job_kind_;
  std::string job_name_, job_uid_;
  AttemptSight attempt_;
  bool name_is_taken_ = false;
  std::vector<const kube::Object*> labelled_, old_jobs_, old_pods_;
};

bool holds_accounting(const kube::Object& pod);

}  // namespace berth::controllers
