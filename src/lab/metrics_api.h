// SPDX-License-Identifier: Apache-2.0
// metrics.k8s.io: what simulated nodes and pods use now, for `kubectl top` and autoscalers.
#pragma once

#include <memory>
#include <vector>

#include "apiserver/kinds/kind_row.h"
#include "lab/lab.h"
#include "lab/usage.h"

namespace berth::lab {

// For KindRegistry::serve("metrics.k8s.io", …). The lab outlives whoever asks.
std::vector<apiserver::KindRow> metrics_kinds(Lab&, std::shared_ptr<const UsageRules> = {});

}  // namespace berth::lab
