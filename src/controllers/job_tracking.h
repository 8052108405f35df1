// SPDX-License-Identifier: Apache-2.0
// The finalizer by which a Job counts its pods. One that loses it before it goes is not counted.
#pragma once

#include <string>
#include <string_view>

#include "kube/object.h"

namespace berth::controllers {

// On every pod that has not been counted yet.
inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
bool job_tracked(const kube::Object& pod);
std::string untrack_patch();  // a strategic one that takes the finalizer off

}  // namespace berth::controllers
