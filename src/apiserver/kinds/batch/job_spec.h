// SPDX-License-Identifier: Apache-2.0
// Job specs, in Jobs and in the templates of CronJobs.
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"
#include "base/result.h"

namespace berth::apiserver {

void fill_job_pattern(json::Dict& spec);  // what templates get too
void check_job_spec(Peek spec, const Path&, Findings&);
// How many indexes "0-2,5" names, or why it is wrong.
Result<std::int64_t> count_indexes(std::string_view text, std::int64_t completions);

}  // namespace berth::apiserver
