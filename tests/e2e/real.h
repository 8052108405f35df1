// SPDX-License-Identifier: Apache-2.0
// Kubernetes' own programs, as `make real` builds them, on whatever cluster a test has.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "child.h"

namespace berth::e2e {

// Where `make real` put the program, or why there is none: for GTEST_SKIP.
Result<std::filesystem::path> real_program(const std::string& name);

// Its output goes to NAME.log in the folder.
Result<std::unique_ptr<Child>> start_real(const std::string& name, std::vector<std::string> args,
                                          const TempFolder&);

// What every test wants of kube-controller-manager and kwok; the rest is the test's. Of kwok's
// nodes nothing is said: which ones it manages, and whether it keeps leases for them.
std::vector<std::string> controller_manager_args(const std::filesystem::path& kubeconfig,
                                                 const std::vector<std::string>& controllers);
std::vector<std::string> kwok_args(const std::filesystem::path& kubeconfig);

struct Ran {
  int code = -1;
  std::string output = {};
};
// kubectl with a home of its own, until it ends.
Result<Ran> run_kubectl(std::vector<std::string> args, const TempFolder&,
                        std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace berth::e2e
