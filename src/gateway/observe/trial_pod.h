// SPDX-License-Identifier: Apache-2.0
// Would it fit then? Asked of a pod that was changed, or of a cluster that was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/object.h"
#include "scheduler/cycle/decide.h"
#include "scheduler/explain/judgement.h"

namespace berth::gateway {

// Loop-confined. What it is given outlives it.
class TrialPod {
 public:
  TrialPod(const scheduler::Judgement&, const kube::Object& pod, scheduler::Case& problem);

  // The nodes where the pod fits as the cluster is now.
  std::vector<std::string> fits() { return fits(problem_.pending); }
  // Where it would with these operations of an RFC 6902 patch; nullopt: they cannot be applied.
  std::optional<std::vector<std::string>> fits_with(std::string_view operations);
  // The document after the patch that was tried last.
  const std::string& patched() const { return patched_; }

  scheduler::ClusterState& cluster() { return *problem_.cluster; }

 private:
  std::vector<std::string> fits(const scheduler::PodPtr&);

  scheduler::Case& problem_;
  std::string document_, patched_;
  scheduler::PodCompiler compiler_;
  scheduler::SearchStart start_;
  scheduler::Decider decider_;
};

}  // namespace berth::gateway
