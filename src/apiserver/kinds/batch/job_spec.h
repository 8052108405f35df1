// SPDX-License-Identifier: Apache-2.0
// Job specs, in Jobs and in the templates of CronJobs.
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void fill_job_pattern(json::Dict& spec);  // what templates get too
void check_job_spec(Peek spec, const Path&, Findings&);

}  // namespace berth::apiserver
