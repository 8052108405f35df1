// SPDX-License-Identifier: Apache-2.0
// The history of a Deployment, which its ReplicaSets carry in annotations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controllers/deployment/sets.h"

namespace berth::controllers {

using Annotations = std::map<std::string, std::string>;
Annotations annotations_of(const Object&);

// The annotations that the newest set should have, given those it has (none: it is about to be
// made) and the number after the highest of the old ones.
Annotations new_set_annotations(const Object& deployment, const Annotations& has, bool exists,
                                std::int64_t next_revision, const Rollout&);
// Those of a Deployment that goes back to a set.
Annotations rolled_back_annotations(const Object& deployment, const Object& set);
// The revision before the last; 0 where there is none.
std::int64_t last_revision(const std::vector<Set>&);
std::string annotations_patch(const Annotations& from, const Annotations& to);  // "" when equal
std::string annotations_json(const Annotations&);

}  // namespace berth::controllers
