// SPDX-License-Identifier: Apache-2.0
// What every slot of a Testbed is just now. Computed from what is there and never stored: whoever
// needs to know calls this, so that all agree.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/ours/testbed_view.h"
#include "policy/slots/facts.h"
#include "policy/slots/ledger.h"

namespace berth::slots {

enum class SlotState : unsigned char {
  kAbsent,    // a hole in the numbering, or shrunk while idle
  kHolding,   // its ghost is on the way
  kFree,      // its ghost sits there: only such a slot is granted
  kReserved,  // granted, and no executor bound yet
  kOccupied,
  kDraining,  // an executor is there that is to leave
  kError,
};
std::string_view name_of(SlotState);       // "free"
std::string_view wire_name_of(SlotState);  // "FREE"; the thesis knows four

struct SlotPod {
  Key key;
  std::string uid;
  friend bool operator==(const SlotPod&, const SlotPod&) = default;
};

struct Slot {
  SlotNumber number = 0;
  std::string slot_class, node;
  int node_id = 0;
  int on_node = 0;
  SlotState state = SlotState::kAbsent;
  bool wanted = false;                       // in the geometry of today
  bool held = false;                         // and its room is to be held
  bool node_usable = false;                  // exists, ready, not cordoned
  bool node_gone = false;                    // deleted, and perhaps to return
  const kube::ResourceList* size = nullptr;  // of its class; null where there is no such class now
  GrantId grant = {};
  Key job = {};                                      // of the grant
  std::optional<SlotPod> executor = {}, ghost = {};  // live ones
  bool ghost_bound = false;
  std::optional<SlotPod> promised = {};  // the pod it is pinned to, not bound yet
  std::string problem = {};              // of kError; of others, of their ghost
};

// A value; thread-compatible.
class SlotTable {
 public:
  std::vector<Slot> slots;  // ascending by number
  std::vector<std::pair<SlotPod, std::string>>
      strays;  // executors of grants that are not the ledger's
  std::map<std::string, kube::ResourceList, std::less<>> sizes;  // by class

  const Slot* find(SlotNumber) const;
  std::size_t count(SlotState) const;

  SlotTable() = default;
  SlotTable(const SlotTable&);
  SlotTable& operator=(const SlotTable&);
  SlotTable(SlotTable&&) = default;
  SlotTable& operator=(SlotTable&&) = default;
};

// How long a ghost may be on its way before its slot is in error.
inline constexpr Duration kGhostPatience = 10s;

struct Sight {
  const Ledger& ledger;
  const std::vector<WantedClass>& wanted;
  const std::vector<kube::SlotClass>& classes;
  const NodeFacts& nodes;
  const std::vector<PodFact>& pods;  // of the Testbed: ghosts and executors
  const RunFacts& runs;
  std::optional<int> held = {};  // so many slots are held; none: all
};
SlotTable observe(const Sight&, WallTime now);

}  // namespace berth::slots
