// SPDX-License-Identifier: Apache-2.0
// What is to be done about one BatchJob, from what is seen of it.
#pragma once

#include <string_view>

#include "controllers/batchjob/batchjob.h"

namespace berth::controllers {

inline constexpr std::string_view kByGrant = "grant";  // indexes pods

runtime::Plan plan_batch_job(const runtime::View&, const BatchJobOptions&, const kube::Object& job,
                             WallTime now);

}  // namespace berth::controllers
