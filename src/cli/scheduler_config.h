// SPDX-License-Identifier: Apache-2.0
// The scheduler's configuration from a file that was named on the command line.
#pragma once

#include <string>

#include "base/result.h"
#include "scheduler/config/config.h"

namespace berth::cli {

// "": the defaults. Every problem of the file is a line of the error, which is one of usage.
Result<scheduler::SchedulerConfig> load_scheduler_config(const std::string& path);

}  // namespace berth::cli
