// SPDX-License-Identifier: Apache-2.0
// `berth up` itself, as a process that a test starts on a free port, talks to, measures and kills;
// gone when the test is gone.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "access.h"
#include "base/result.h"
#include "child.h"

namespace berth::e2e {

// Only the API server: no nodes, no controllers, no scheduler.
std::vector<std::string> bare();

// Thread-compatible; `access()` may be read by others while it runs.
class BerthUp {
 public:
  struct Options {
    std::filesystem::path folder = {};    // for its kubeconfig and log; "": one of its own
    std::filesystem::path data_dir = {};  // "": --ephemeral
    std::vector<std::string> flags = {};
    std::vector<std::string> before = {};  // what runs it: {"/usr/bin/nsenter", ...}
  };
  // Not waiting for it to be ready.
  static Result<std::unique_ptr<BerthUp>> launch(const Options&);
  // Ready to be asked; an error has what it said.
  static Result<std::unique_ptr<BerthUp>> start(const Options&);

  Result<Ok> wait_ready();
  void kill();  // -9, and waits until it is gone
  bool end();   // as Ctrl-C does; false: it had to be killed
  Child& child() { return *child_; }
  pid_t pid() const { return child_->pid(); }
  const TempFolder& folder() const { return *own_; }  // where none was given
  const std::filesystem::path& kubeconfig() const { return kubeconfig_; }
  const Access& access() const { return access_; }  // as its administrator
  // What it said, without what a start before it did.
  std::string said() const { return child_->log(); }
  std::string log_tail(std::size_t lines = 20) const { return child_->log_tail(lines); }

  std::size_t resident_kib() const;
  std::size_t peak_kib() const;  // since forget_peak()
  void forget_peak() const;
  std::size_t open_files() const;

 private:
  BerthUp() = default;
  std::size_t status_kib(std::string_view field) const;
  std::unique_ptr<TempFolder> own_;
  std::filesystem::path kubeconfig_;
  Access access_;
  std::unique_ptr<Child> child_;
};

}  // namespace berth::e2e
