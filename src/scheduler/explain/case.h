// SPDX-License-Identifier: Apache-2.0
// A scheduling problem in a line of JSON: a cluster, the pods on it, and the pod to place. The
// format is that of the recorded answers of kube-scheduler, `berth explain --cases`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/pod.h"
#include "scheduler/framework/nominated_pods.h"

namespace berth::scheduler {

// The nominations of pods that wait in the queue, as kube-scheduler's nominator keeps them.
// Loop-confined.
class CaseNominations final : public NominatedPods {
 public:
  void add(PodPtr);  // does nothing for a pod without nomination, or one that is gated
  bool empty() const override { return by_node_.empty(); }
  std::vector<PodPtr> on(std::string_view node) const override;
  std::vector<std::string> nodes() const override;

 private:
  std::map<std::string, std::vector<PodPtr>, std::less<>> by_node_;
};

struct Case {
  std::string id;
  std::unique_ptr<ClusterState> cluster;
  PodPtr pending;
  CaseNominations nominated;
};

// The pod as if it had no node: taken off the one that it is on, and promised none. One that waits
// is returned as it is.
PodPtr taken_off(ClusterState&, const PodPtr&);

// An error names the member: "pods[3]: spec.containers[0]: …".
Result<Case> read_case(std::string_view json);

}  // namespace berth::scheduler
