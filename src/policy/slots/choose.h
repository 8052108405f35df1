// SPDX-License-Identifier: Apache-2.0
// Which slot of its grant a pod gets. Same inputs, same answer: the scheduler's plugin and the
// extender both ask here, so that they cannot disagree.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/resource_list.h"
#include "policy/slots/observe.h"

namespace berth::slots {

// Slots that are promised: to which pod, by uid.
using Pins = std::map<SlotNumber, std::string>;
Pins pins_of(const std::vector<kube::Pin>&);

struct SlotQuestion {
  std::string pod;  // its uid
  GrantId grant;
  kube::ResourceList requests;
  // Only these come into question; none: all of its grant. A slot may be granted and not, or no
  // more, ordered.
  std::optional<std::set<SlotNumber>> among = {};
};
struct SlotRefusal {
  SlotNumber slot = 0;
  std::string node;
  std::string why;
};
struct SlotAnswer {
  enum class Kind : unsigned char { kNotOurs, kSlot, kWait };
  Kind kind = Kind::kNotOurs;
  SlotNumber slot = 0;
  std::string node = {};
  std::optional<SlotPod> ghost = {};  // whose room it takes
  std::vector<SlotRefusal> why = {};  // the slots of the grant that it does not get
};

// In this order: the slot it is bound to; the one it is promised, if its node is usable; the lowest
// of its grant that is reserved, not promised, on a usable node and large enough. Nodes that are
// offered do not enter, so a promise does not wander.
SlotAnswer choose_slot(const SlotTable&, const Pins&, const SlotQuestion&);

}  // namespace berth::slots
