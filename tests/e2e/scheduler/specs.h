// SPDX-License-Identifier: Apache-2.0
// Kubernetes' own end-to-end specs of the scheduler, on whatever cluster a kubeconfig leads to.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"

namespace berth::e2e {

// Builds the program, once. NotFound where there is no Go.
Result<std::string> specs_program();
// Whether all are to run, and not only those that BERTH_SPECS, a regular expression, chooses while
// one looks for a fault.
bool all_specs();

using Outcomes = std::map<std::string, std::string>;  // by spec: passed, failed, …
// Those of [sig-scheduling] whose names do not match `left_out`, told one by one as they ended.
// Nothing that runs them needs more than an hour.
Result<Outcomes> run_specs(const std::string& program, const std::filesystem::path& kubeconfig,
                           const std::filesystem::path& folder, const std::string& left_out);

}  // namespace berth::e2e
