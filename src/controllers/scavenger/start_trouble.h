// SPDX-License-Identifier: Apache-2.0
// Why an attempt that was opened does not come to run, in the words of whoever keeps it from that.
#pragma once

#include <optional>
#include <string>

#include "controllers/scavenger/evidence.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::controllers {

struct StartTrouble {
  std::string why = {};
  WallTime since = {};
  bool sure = false;   // time alone will not mend it, so it is told at once
  bool asked = false;  // what it is was asked for: look again
};
// None: it is on its way. With less than `grace` behind it nothing is asked.
std::optional<StartTrouble> start_trouble(const runtime::View&, const AttemptSight&, Duration grace,
                                          WallTime now, runtime::Plan&);

}  // namespace berth::controllers
