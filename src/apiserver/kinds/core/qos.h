// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "apiserver/edit/peek.h"

namespace berth::apiserver {

// Guaranteed, Burstable or BestEffort, by what the pod's containers, or the pod as a whole, ask
// for.
std::string_view qos_class(Peek pod_spec);

}  // namespace berth::apiserver
