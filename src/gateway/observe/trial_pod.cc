// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/trial_pod.h"

#include "json/patch.h"
#include "kube/kind.h"

namespace berth::gateway {

TrialPod::TrialPod(const scheduler::Judgement& judgement, const kube::Object& pod,
                   scheduler::Case& problem)
    : problem_(problem),
      document_(pod.json()),
      decider_(judgement.profile(), *problem.cluster, judgement.reasons(), &problem.nominated,
               start_) {}

std::vector<std::string> TrialPod::fits(const scheduler::PodPtr& pod) {
  const scheduler::Decision decision = decider_.decide(pod);
  std::vector<std::string> names;
  if (!decision.status.ok()) return names;
  for (const std::uint32_t row : decision.feasible)
    names.push_back(cluster().node(cluster().table().node[row]).name);
  return names;
}

std::optional<std::vector<std::string>> TrialPod::fits_with(std::string_view operations) {
  Result<std::string> changed = json::json_patch(document_, operations);
  if (!changed) return std::nullopt;
  const Result<kube::Object> object = kube::Object::parse(kube::kPod, *changed);
  if (!object) return std::nullopt;
  const Result<scheduler::PodPtr> pod = compiler_.compile(*object);
  if (!pod) return std::nullopt;
  patched_ = *std::move(changed);
  auto waiting = std::make_shared<scheduler::Pod>(**pod);
  waiting->node_name.clear();
  waiting->nominated_node_name.clear();
  return fits(waiting);
}

}  // namespace berth::gateway
