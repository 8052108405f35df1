// SPDX-License-Identifier: Apache-2.0
// berth explain scavenger: reads a cluster, or manifests, once and says why a scavenger job waits,
// what its interruption would cost now, and why it was interrupted.
#pragma once

#include "cli/explain_slots.h"

namespace berth::cli {

inline constexpr std::string_view kExplainedScavenger = "scavenger";

Result<int> explain_scavenger(const ExplainSlotsOptions&, Context&);

}  // namespace berth::cli
