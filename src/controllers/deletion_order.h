// SPDX-License-Identifier: Apache-2.0
// Which pods go first when there are too many.
#pragma once

#include <vector>

#include "base/time.h"
#include "kube/object.h"

namespace berth::controllers {

// Orders pods by how little is lost with them. `related`: pods of all replica sets of the same
// owner; a node that holds many of them gives up its pods first.
void order_for_deletion(std::vector<const kube::Object*>& pods,
                        const std::vector<const kube::Object*>& related, WallTime now);

// The order of those that know no relatives (Jobs): the earlier its stage and the younger, the
// sooner it goes.
void order_by_stage(std::vector<const kube::Object*>& pods);

}  // namespace berth::controllers
