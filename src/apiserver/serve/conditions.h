// SPDX-License-Identifier: Apache-2.0
// Conditions in a status, as the server itself writes them.
#pragma once

#include <string_view>

#include "apiserver/edit/edit.h"
#include "base/time.h"

namespace berth::apiserver {

struct PodCondition {
  std::string_view type, status, reason = {}, message = {};
};
// Adds or replaces it; the time of the last transition stays where the status does not change.
void set_pod_condition(Edit& pod, const PodCondition&, WallTime now);

// Of a PodDisruptionBudget: DisruptionAllowed, by what its status allows.
void set_disruption_allowed(json::Dict& status, WallTime now);

}  // namespace berth::apiserver
