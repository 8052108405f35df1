// SPDX-License-Identifier: Apache-2.0
// Why a slot is not free, in one sentence, and what to do about it in another.
#pragma once

#include <string>

#include "policy/slots/observe.h"

namespace berth::slots {

struct SlotExplanation {
  std::string cause;
  std::string remedy;  // "": nothing has to be done
};
SlotExplanation explain_slot(const SlotTable&, SlotNumber);

}  // namespace berth::slots
