// SPDX-License-Identifier: Apache-2.0
// Giving way with notice: somebody needs the room of a running job, which is asked for a checkpoint
// first, and made smaller where that may be enough.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/ours/scavenger_job_view.h"
#include "kube/resource_list.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::controllers {

inline constexpr Duration kReclaimSettles = 2s;  // caches of different kinds are not in step

struct Reclaim {
  kube::Key pod;        // that needs the room; none: the cluster is too full
  std::string uid;      // of it
  std::string message;  // why, where it is no pod
  WallTime deadline = {};

  std::string why() const;  // "pod default/web needs its room"
};
// As a door has noted it in an annotation; none where there is none, or nothing that can be read.
std::optional<Reclaim> reclaim_of(const kube::Object& job);
std::string reclaim_json(const Reclaim&, WallTime asked);  // for the status
// The pod is gone, or has got a place.
bool nobody_needs(const runtime::View&, const Reclaim&);

// The question on a pod, or its withdrawal.
runtime::Action annotate(const kube::Object& pod, const std::optional<WallTime>& deadline);
runtime::Action forget_reclaim(const kube::Object& job);
// By the queue: the job has to go by then.
runtime::Action ask_to_go(const kube::Object& job, WallTime deadline, std::string_view message);

// Resizes of the pods that ask for more than spec.elastic.min.
std::vector<runtime::Action> shrink(const kube::ScavengerJobView&,
                                    const std::vector<const kube::Object*>& pods);

// What a pod was made smaller by, and how it gets that back; none where it has all that the Job's
// template says.
struct GrowBack {
  kube::ResourceList more;
  runtime::Action resize;
};
std::optional<GrowBack> grow_back(const kube::Object& batch_job, const kube::Object& pod);

}  // namespace berth::controllers
