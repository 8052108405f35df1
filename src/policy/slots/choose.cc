// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/choose.h"

#include <fmt/format.h>

namespace berth::slots {
namespace {

std::string why_too_small(const Slot& slot, const kube::ResourceList& requests) {
  if (slot.size == nullptr) return fmt::format("class {} is no more", slot.slot_class);
  for (const auto& [name, amount] : requests) {
    const auto size = slot.size->find(name);
    // What a slot does not speak of is the node's business.
    if (size != slot.size->end() && amount > size->second)
      return fmt::format("it holds {} of {}, {} is asked for", size->second.text(), name,
                         amount.text());
  }
  return {};
}

std::string why_not(const Slot& slot, const Pins& pins, const SlotQuestion& question) {
  const auto pin = pins.find(slot.number);
  if (pin != pins.end() && pin->second != question.pod) return "it is promised to another pod";
  if (question.among && question.among->count(slot.number) == 0) return "it is not ordered";
  if (slot.executor) return fmt::format("{} runs there", slot.executor->key.text());
  if (slot.state != SlotState::kReserved)
    return slot.problem.empty() ? fmt::format("it is {}", name_of(slot.state)) : slot.problem;
  if (!slot.node_usable) return fmt::format("node {} takes no pods", slot.node);
  return why_too_small(slot, question.requests);
}

SlotAnswer given(const Slot& slot, std::vector<SlotRefusal> why) {
  return {SlotAnswer::Kind::kSlot, slot.number, slot.node, slot.ghost, std::move(why)};
}

}  // namespace

Pins pins_of(const std::vector<kube::Pin>& list) {
  Pins pins;
  for (const kube::Pin& pin : list) pins[pin.slot] = pin.pod_uid;
  return pins;
}

SlotAnswer choose_slot(const SlotTable& table, const Pins& pins, const SlotQuestion& question) {
  if (question.grant.empty()) return {};
  std::vector<const Slot*> of_grant;
  for (const Slot& slot : table.slots)
    if (slot.grant == question.grant) of_grant.push_back(&slot);
  for (const Slot* slot : of_grant)
    if (slot->executor && slot->executor->uid == question.pod) return given(*slot, {});
  for (const Slot* slot : of_grant) {
    const auto pin = pins.find(slot->number);
    if (pin != pins.end() && pin->second == question.pod && why_not(*slot, pins, question).empty())
      return given(*slot, {});
  }
  SlotAnswer answer{.kind = SlotAnswer::Kind::kWait};
  for (const Slot* slot : of_grant) {
    std::string why = why_not(*slot, pins, question);
    if (why.empty()) return given(*slot, std::move(answer.why));
    answer.why.push_back({slot->number, slot->node, std::move(why)});
  }
  return answer;
}

}  // namespace berth::slots
