// SPDX-License-Identifier: Apache-2.0
// `berth up` itself for one test: a process of its own, on a free port, nothing kept, gone when the
// test is gone.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "child.h"

namespace berth::e2e {

// Thread-compatible.
class BerthUp {
 public:
  // Ready to serve when it returns.
  static Result<std::unique_ptr<BerthUp>> start(const std::vector<std::string>& flags);

  const TempFolder& folder() const { return folder_; }
  const std::filesystem::path& kubeconfig() const { return kubeconfig_; }
  Child& process() { return *process_; }
  std::string log_tail(std::size_t lines = 20) const { return process_->log_tail(lines); }

 private:
  BerthUp() = default;
  TempFolder folder_;
  std::filesystem::path kubeconfig_;
  std::unique_ptr<Child> process_;
};

}  // namespace berth::e2e
