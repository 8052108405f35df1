// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/explain_slot.h"

#include <fmt/format.h>

namespace berth::slots {

SlotExplanation explain_slot(const SlotTable& table, SlotNumber number) {
  const Slot* slot = table.find(number);
  if (slot == nullptr)
    return {fmt::format("the Testbed has no slot {}", number),
            "Use a number that status.slots of the Testbed shows."};
  const std::string where = fmt::format("slot {} on {}", number, slot->node);
  switch (slot->state) {
    case SlotState::kAbsent:
      if (slot->wanted)
        return {fmt::format("{} is not held: the Testbed has shrunk because nobody used it", where),
                "Create a Scheduling and the Testbed grows again."};
      return {fmt::format("{} is not part of the Testbed any more", where),
              "Give the node the Testbed's label again, or raise slotsPerNode."};
    case SlotState::kHolding:
      return {slot->ghost ? fmt::format("the ghost of {} waits for the scheduler", where)
                          : fmt::format("{} has no ghost yet", where),
              "Wait a few seconds. If it lasts, look at the events of the ghost pod."};
    case SlotState::kFree:
      return {fmt::format("{} is free", where), ""};
    case SlotState::kReserved:
      if (slot->promised)
        return {fmt::format("{} is promised to pod {}, which is not bound yet", where,
                            slot->promised->key.text()),
                "Look at the events of that pod."};
      return {fmt::format("{} is reserved for {}, whose executor has not come yet", where,
                          slot->job.text()),
              slot->node_usable ? "Look at the application of that BatchJob."
                                : "The node takes no pods: uncordon it."};
    case SlotState::kOccupied:
      return {fmt::format("{} is used by pod {} of {}", where, slot->executor->key.text(),
                          slot->job.text()),
              ""};
    case SlotState::kDraining:
      return {fmt::format("pod {} of {} is to leave {}", slot->executor->key.text(),
                          slot->job.text(), where),
              "Wait until the pod has ended."};
    case SlotState::kError:
      return {fmt::format("{} cannot be used: {}", where, slot->problem),
              "Mend what is named; the slot comes back by itself."};
  }
  return {};
}

}  // namespace berth::slots
