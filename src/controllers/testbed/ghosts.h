// SPDX-License-Identifier: Apache-2.0
// The pods that hold the room of slots: which are wanted, which are wrong, and what one looks like.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controllers/slot_sight.h"
#include "controllers/testbed/room.h"

namespace berth::controllers {

// How long an executor that a slot is promised to may take, and how long a granted slot may be
// without a ghost: somebody has just made room there.
inline constexpr Duration kPromisePatience = 60s, kHandOver = 5s;
inline constexpr Duration kEndedPatience = 10s;  // until one that ended is made again

std::string ghost_name(std::string_view testbed, std::string_view node, int on_node);
std::string ghost_json(const kube::Object& testbed, const slots::Slot&);

// Since when slots that should have a ghost have none. A view of the past that is lost with the
// process, which makes it impatient and nothing else.
using Missing = std::map<slots::SlotNumber, WallTime>;

struct GhostPlan {
  std::vector<const slots::Slot*> create;
  std::vector<std::pair<const kube::Object*, std::string>> remove;  // and why
  Missing missing;
  std::optional<WallTime> look_again;
};
GhostPlan plan_ghosts(const runtime::View&, const SlotSight&, const slots::SlotTable&,
                      const NodeProblems&, const Missing& before, WallTime now);

}  // namespace berth::controllers
