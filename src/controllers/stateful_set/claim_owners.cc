// SPDX-License-Identifier: Apache-2.0
#include "controllers/stateful_set/claim_owners.h"

#include "controllers/pods.h"
#include "json/writer.h"

namespace berth::controllers {
namespace {

using kube::OwnerRef;

bool names_set(const OwnerRef& ref, const Object& set) {
  return ref.api_version == "apps/v1" && ref.kind == "StatefulSet" && ref.name == set.name();
}
bool names_pod(const OwnerRef& ref, const Member& pod) {
  return ref.api_version == "v1" && ref.kind == "Pod" && ref.name == pod.name;
}

bool has_owner(const Object& claim, std::string_view uid) {
  for (const OwnerRef& ref : claim.owners())
    if (ref.uid == uid) return true;
  return false;
}

bool good(const Object& claim, const Object& set, const SetSpec& spec, const Member& pod) {
  for (const OwnerRef& ref : claim.owners()) {
    if (names_set(ref, set)) {
      if (ref.uid != set.uid()) return true;  // of one before: not to be touched
      break;
    }
  }
  if (claim_is_stale(claim, pod)) return true;
  const bool of_set = has_owner(claim, set.uid()), of_pod = has_owner(claim, pod.uid);
  if (claim_has_stranger(claim, set, spec, pod)) return !of_set && !of_pod;
  for (const OwnerRef& ref : claim.owners())
    if ((ref.uid == set.uid() || ref.uid == pod.uid) && !ref.controller) return false;
  const bool beyond = !spec.in_range(pod.ordinal);
  const bool wants_pod = spec.deletes_on_scale && beyond;
  const bool wants_set = spec.deletes_with_set && !wants_pod;
  return of_set == wants_set && of_pod == wants_pod;
}

std::string pod_ref(const Member& pod) {
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("Pod");
  w.member("name").string(pod.name).member("uid").string(pod.uid);
  w.member("controller").boolean(true).member("blockOwnerDeletion").boolean(true).end();
  return w.take();
}

}  // namespace

bool claim_is_stale(const Object& claim, const Member& pod) {
  for (const OwnerRef& ref : claim.owners())
    if (names_pod(ref, pod)) return ref.uid != pod.uid;
  return false;
}

bool claim_has_stranger(const Object& claim, const Object& set, const SetSpec& spec,
                        const Member& pod) {
  if (!spec.deletes_on_scale && !spec.deletes_with_set) return false;
  for (const OwnerRef& ref : claim.owners()) {
    if (names_set(ref, set)) {
      if (ref.uid != set.uid()) return true;
    } else if (names_pod(ref, pod)) {
      if (ref.uid != pod.uid) return true;
    } else if (ref.controller) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> claim_owners_patch(const Object& claim, const Object& set,
                                              const SetSpec& spec, const Member& pod) {
  if (good(claim, set, spec, pod)) return std::nullopt;
  json::Writer w;
  w.object().member("metadata").object().member("ownerReferences").array();
  const std::vector<OwnerRef> owners = claim.owners();
  std::size_t at = 0;
  for (const json::Slice one : claim.metadata()["ownerReferences"].elements()) {
    const OwnerRef& ref = owners[at++];
    if (!names_set(ref, set) && !names_pod(ref, pod)) w.raw(one.raw());
  }
  if (!claim_has_stranger(claim, set, spec, pod)) {
    const bool beyond = !spec.in_range(pod.ordinal);
    if (spec.deletes_on_scale && beyond)
      w.raw(pod_ref(pod));
    else if (spec.deletes_with_set)
      w.raw(controller_ref(set));
  }
  w.end().end().end();
  return w.take();
}

}  // namespace berth::controllers
