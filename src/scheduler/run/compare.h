// SPDX-License-Identifier: Apache-2.0
// Does the scheduler believe what the API server says? For SIGUSR2, as in kube-scheduler.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/object.h"
#include "scheduler/cache/cluster_state.h"

namespace berth::scheduler {

// How long a pod has been on its way to its node; nullopt: it is not under way.
using UnderWay = std::function<std::optional<Duration>(std::string_view uid)>;

// Longer than every stage of binding together may take by default.
inline constexpr Duration kAssumedTooLong = 30min;

// A line for each node and pod that the two disagree about, in order. `pods`: as the scheduler
// lists them, without those that have ended.
std::vector<std::string> differences(const ClusterState&, const std::vector<kube::Object>& nodes,
                                     const std::vector<kube::Object>& pods, const UnderWay&);

}  // namespace berth::scheduler
