// SPDX-License-Identifier: Apache-2.0
// Who owns the claim of a member: that decides whether the garbage collector takes it, and when.
//   neither policy deletes       nobody
//   deleted with the set         the set
//   deleted on scaling down      the pod, once it is beyond the set's size
//   both                         the set, and beyond its size the pod instead
#pragma once

#include <optional>
#include <string>

#include "controllers/stateful_set/members.h"
#include "kube/object.h"

namespace berth::controllers {

// The owners' list as it should be; nothing where it is good, or where strangers have a say.
// `pod` may be one that is not there any more or not yet; its uid is "" then.
struct Member {
  std::string name, uid;
  std::int64_t ordinal = -1;
};
std::optional<std::string> claim_owners_patch(const kube::Object& claim, const kube::Object& set,
                                              const SetSpec&, const Member&);
// Somebody else controls the claim, and the policy is ignored.
bool claim_has_stranger(const kube::Object& claim, const kube::Object& set, const SetSpec&,
                        const Member&);
// It goes with a pod of that name that is gone; a new pod has to wait until it has.
bool claim_is_stale(const kube::Object& claim, const Member&);

}  // namespace berth::controllers
