// SPDX-License-Identifier: Apache-2.0
#include "controllers/persistent_volume/pods_of_claim.h"

#include <fmt/format.h>

#include "controllers/pods.h"

namespace berth::controllers {

std::vector<std::string> claims_of_pod(const Object& pod) {
  std::vector<std::string> out;
  for (const json::Slice volume : pod.member("spec")["volumes"].elements()) {
    if (const json::Slice claim = volume["persistentVolumeClaim"]; claim.is_object())
      out.push_back(fmt::format("{}/{}", pod.ns(), claim["claimName"].text()));
    else if (volume["ephemeral"].is_object())
      out.push_back(fmt::format("{}/{}-{}", pod.ns(), pod.name(), volume["name"].text()));
  }
  return out;
}

bool pod_is_over(const Object& pod) {
  if (pod_ended(pod)) return true;
  if (!pod.deleting()) return false;
  for (const char* list :
       {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"})
    for (const json::Slice one : pod.status()[list].elements()) {
      const json::Slice state = one["state"];
      if (!state["terminated"].is_object() && !state["waiting"].is_object()) return false;
    }
  return true;
}

bool pod_holds_claim(const Object& pod, const Object& claim) {
  if (pod.member("spec")["nodeName"].text().empty()) return false;
  const auto grace = pod.metadata()["deletionGracePeriodSeconds"].integer();
  const bool shut_down = pod.deleting() && grace && *grace == 0;
  for (const json::Slice volume : pod.member("spec")["volumes"].elements()) {
    if (volume["persistentVolumeClaim"]["claimName"].equals(claim.name())) return true;
    if (shut_down || !volume["ephemeral"].is_object()) continue;
    const auto owner = claim.controller();
    if (claim.name() == fmt::format("{}-{}", pod.name(), volume["name"].text()) && owner &&
        owner->uid == pod.uid())
      return true;
  }
  return false;
}

}  // namespace berth::controllers
