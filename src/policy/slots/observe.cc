// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/observe.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace berth::slots {
namespace {

SlotPod ref(const PodFact& pod) { return {pod.key, pod.uid}; }

class Observation {
 public:
  Observation(const Sight& sight, WallTime now) : sight_(sight), now_(now) {}

  SlotTable table() {
    for (const kube::SlotClass& each : sight_.classes) table_.sizes[each.name] = each.size;
    make_slots();
    place_pods();
    for (Slot& slot : table_.slots) judge(slot);
    return std::move(table_);
  }

 private:
  void make_slots() {
    std::map<std::string_view, int> rank;
    for (const WantedClass& each : sight_.wanted)
      for (const std::string& node : each.nodes)
        rank.try_emplace(node, static_cast<int>(rank.size()));
    int held = 0;
    for (const Cell& cell : cells_of(sight_.ledger.blocks, sight_.wanted)) {
      Slot slot{.number = cell.slot,
                .slot_class = std::string(cell.slot_class),
                .node = std::string(cell.node),
                .on_node = cell.on_node,
                .wanted = cell.wanted};
      const auto node = sight_.nodes.find(cell.node);
      const auto at = rank.find(cell.node);
      if (node != sight_.nodes.end()) {
        slot.node_usable = node->second.ready && node->second.schedulable && !node->second.going;
        slot.node_id =
            node_number(node->second.label_value).value_or(at == rank.end() ? 0 : at->second);
      }
      if (const Grant* grant = sight_.ledger.holder(cell.slot)) {
        slot.grant = grant->id;
        slot.job = grant->job;
      }
      slot.held = cell.wanted && (!sight_.held || held < *sight_.held || !slot.grant.empty());
      held += slot.held ? 1 : 0;
      if (const auto size = table_.sizes.find(slot.slot_class); size != table_.sizes.end())
        slot.size = &size->second;
      table_.slots.push_back(std::move(slot));
    }
  }

  Slot* slot_at(SlotNumber number) {
    const auto found =
        std::lower_bound(table_.slots.begin(), table_.slots.end(), number,
                         [](const Slot& slot, SlotNumber n) { return slot.number < n; });
    return found != table_.slots.end() && found->number == number ? &*found : nullptr;
  }

  void place_pods() {
    std::map<std::string_view, SlotNumber> pinned;
    for (const auto& [grant, run] : sight_.runs)
      for (const kube::Pin& pin : run.pins) pinned[pin.pod_uid] = pin.slot;
    // Where two have one slot, the elder keeps it.
    std::vector<const PodFact*> by_age;
    for (const PodFact& pod : sight_.pods) by_age.push_back(&pod);
    std::sort(by_age.begin(), by_age.end(), [](const PodFact* a, const PodFact* b) {
      return std::tie(a->created, a->uid) < std::tie(b->created, b->uid);
    });
    for (const PodFact* each : by_age) {
      const PodFact& pod = *each;
      std::optional<SlotNumber> number = pod.slot;
      const auto pin = pinned.find(pod.uid);
      if (!pod.ghost && !number && pin != pinned.end()) number = pin->second;
      Slot* slot = number ? slot_at(*number) : nullptr;
      if (pod.ghost)
        place_ghost(slot, pod);
      else
        place_executor(slot, pod);
    }
  }
  void place_ghost(Slot* slot, const PodFact& pod) {
    if (slot == nullptr || pod.deleting || slot->ghost) return;
    if (!pod.node.empty() && pod.node != slot->node) return;
    slot->ghost = ref(pod);
    slot->ghost_bound = !pod.node.empty();
    const bool late = pod.created && now_ - *pod.created >= kGhostPatience;
    if (!slot->ghost_bound && late)
      slot->problem = pod.refused.empty() ? std::string("its ghost is not scheduled")
                                          : fmt::format("its ghost is refused: {}", pod.refused);
  }
  void place_executor(Slot* slot, const PodFact& pod) {
    const Grant* grant = sight_.ledger.find(pod.grant);
    const bool bound = !pod.node.empty();
    if (slot == nullptr || grant == nullptr || grant->slots.count(slot->number) == 0 ||
        (bound && pod.node != slot->node)) {
      if (!bound) return;  // it waits for a slot, or for its end
      const std::string why = grant == nullptr
                                  ? fmt::format("grant {} is not in the ledger", pod.grant)
                                  : std::string("it sits in no slot of its grant");
      table_.strays.emplace_back(ref(pod), why);
      if (slot != nullptr && pod.node == slot->node && grant == nullptr)
        problems_[slot->number] = fmt::format("pod {} sits there, and {}", pod.key.text(), why);
      return;
    }
    if (!bound) {
      slot->promised = ref(pod);
    } else if (!slot->executor) {
      slot->executor = ref(pod);
    } else {
      table_.strays.emplace_back(ref(pod), fmt::format("slot {} has a pod", slot->number));
    }
  }

  void judge(Slot& slot) {
    const auto node = sight_.nodes.find(slot.node);
    const auto found = problems_.find(slot.number);
    const auto run = sight_.runs.find(slot.grant);
    slot.node_gone = node == sight_.nodes.end();
    const bool leaves =
        !slot.wanted || (run != sight_.runs.end() &&
                         (run->second.closing ||
                          (run->second.ordered && run->second.ordered->count(slot.number) == 0)));
    if (slot.executor) {
      slot.state = leaves ? SlotState::kDraining : SlotState::kOccupied;
      slot.problem.clear();
      return;
    }
    if (!slot.wanted && slot.grant.empty()) {
      slot.state = SlotState::kAbsent;
      return;
    }
    const auto error = [&](std::string why) {
      slot.state = SlotState::kError;
      slot.problem = std::move(why);
    };
    if (slot.node_gone) return error(fmt::format("node {} is gone", slot.node));
    if (!node->second.ready) return error(fmt::format("node {} is not ready", slot.node));
    if (!slot.held && slot.grant.empty()) return;
    if (!node->second.problem.empty() && !slot.ghost) return error(node->second.problem);
    if (found != problems_.end()) return error(found->second);
    // Whoever took the room of a granted slot makes way for its executor, ghost or no ghost.
    if (!slot.grant.empty())
      slot.state = SlotState::kReserved;
    else if (!slot.problem.empty())
      slot.state = SlotState::kError;
    else
      slot.state = slot.ghost_bound ? SlotState::kFree : SlotState::kHolding;
  }

  const Sight& sight_;
  WallTime now_;
  SlotTable table_;
  std::map<SlotNumber, std::string> problems_;
};

}  // namespace

std::string_view name_of(SlotState state) {
  constexpr std::string_view kNames[] = {"absent",   "holding",  "free", "reserved",
                                         "occupied", "draining", "error"};
  return kNames[static_cast<std::size_t>(state)];
}
std::string_view wire_name_of(SlotState state) {
  switch (state) {
    case SlotState::kFree:
      return "FREE";
    case SlotState::kHolding:
    case SlotState::kReserved:
      return "RESERVED";
    case SlotState::kOccupied:
    case SlotState::kDraining:
      return "OCCUPIED";
    case SlotState::kAbsent:
    case SlotState::kError:
      return "ERROR";
  }
  return "ERROR";
}

const Slot* SlotTable::find(SlotNumber number) const {
  const auto found =
      std::lower_bound(slots.begin(), slots.end(), number,
                       [](const Slot& slot, SlotNumber n) { return slot.number < n; });
  return found != slots.end() && found->number == number ? &*found : nullptr;
}
std::size_t SlotTable::count(SlotState state) const {
  return static_cast<std::size_t>(std::count_if(
      slots.begin(), slots.end(), [&](const Slot& slot) { return slot.state == state; }));
}

// Slots point at their sizes in the same table.
SlotTable::SlotTable(const SlotTable& other)
    : slots(other.slots), strays(other.strays), sizes(other.sizes) {
  for (Slot& slot : slots)
    if (slot.size != nullptr) slot.size = &sizes.find(slot.slot_class)->second;
}
SlotTable& SlotTable::operator=(const SlotTable& other) {
  if (this != &other) *this = SlotTable(other);
  return *this;
}

SlotTable observe(const Sight& sight, WallTime now) { return Observation(sight, now).table(); }

}  // namespace berth::slots
