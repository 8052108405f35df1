// SPDX-License-Identifier: Apache-2.0
// What a node can hold: asked before the first ghost is made there, so that hopeless ones are not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controllers/slot_sight.h"

namespace berth::controllers {

struct NodeProblem {
  std::string_view reason;  // kNoRoom or kNodeConflict
  std::string message;
};
using NodeProblems = std::map<std::string, NodeProblem, std::less<>>;

// Of two Testbeds that want the same room, the older has it.
bool older(const kube::Object& one, const kube::Object& other);

// The nodes on which nothing is to be held. A node that has not room for all of a Testbed's slots
// gets none; where older Testbeds have taken the room, the younger gives way.
NodeProblems nodes_without_room(const runtime::View&, const kube::SlotKinds&, const SlotSight&,
                                const slots::SlotTable&);

}  // namespace berth::controllers
