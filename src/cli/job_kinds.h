// SPDX-License-Identifier: Apache-2.0
// Kinds of applications that are added by configuration: files in a folder, such as a ConfigMap
// that is mounted there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controllers/batchjob/job_kind.h"

namespace berth::cli {

// Every .yaml file of the folder, by name; none for "". An error is one of usage and names the file
// and the line.
Result<std::vector<controllers::JobKind>> read_job_kinds(const std::string& folder);

}  // namespace berth::cli
