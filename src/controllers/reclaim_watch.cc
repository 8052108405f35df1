// SPDX-License-Identifier: Apache-2.0
#include "controllers/reclaim_watch.h"

#include "kube/ours/ours.h"
#include "kube/pod_view.h"

namespace berth::controllers {
namespace {

bool is_wanted(const kube::Object& pod) {
  if (!pod.annotation(kube::kCheckpointRequestedAnnotation).empty()) return true;
  const json::Slice disrupted = kube::find_condition(pod.status(), "DisruptionTarget");
  return disrupted["status"].equals("True") && disrupted["reason"].equals("PreemptionByScheduler");
}

}  // namespace

ReclaimFacts reclaim_facts(const kube::Object& pod) {
  ReclaimFacts facts{.uid = std::string(pod.uid())};
  facts.scavenger = !pod.label(kube::kScavengerLabel).empty();
  if (!facts.scavenger) return facts;
  facts.wanted = is_wanted(pod);
  facts.left = kube::PodView(pod).finished();
  return facts;
}

std::optional<Duration> ReclaimWatch::changed(const ReclaimFacts* before, const ReclaimFacts* after,
                                              WallTime now) {
  const ReclaimFacts& pod = after != nullptr ? *after : *before;
  if (!pod.scavenger) return std::nullopt;
  const auto at = wanted_.find(pod.uid);
  if (after == nullptr || pod.left) {
    // One that was never seen to be wanted, or left before anybody looked, tells nothing; one whose
    // want and end come in one change was at once.
    std::optional<Duration> took;
    if (at != wanted_.end())
      took = now - at->second;
    else if (before != nullptr && after != nullptr && pod.wanted && !before->left)
      took = Duration{};
    if (at != wanted_.end()) wanted_.erase(at);
    return took;
  }
  if (!pod.wanted) {
    if (at != wanted_.end()) wanted_.erase(at);
  } else if (at == wanted_.end()) {
    wanted_.emplace(pod.uid, now);
  }
  return std::nullopt;
}

}  // namespace berth::controllers
