// SPDX-License-Identifier: Apache-2.0
// `berth up` as a process that a test starts, talks to, measures and kills.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "wire.h"

namespace berth::e2e {

// Only the API server: no nodes, no controllers, no scheduler.
std::vector<std::string> bare();

// Thread-compatible; `access()` may be read by others while it runs.
class UpProcess final : public conformance::Target {
 public:
  struct Options {
    std::filesystem::path folder = {};    // for its kubeconfig and log
    std::filesystem::path data_dir = {};  // "": --ephemeral
    std::vector<std::string> flags = {};
    std::vector<std::string> before = {};  // what runs it: {"/usr/bin/nsenter", ...}
  };
  // Not waiting for it to be ready.
  static Result<std::unique_ptr<UpProcess>> launch(const Options&);
  // Ready to be asked; an error has what it said.
  static Result<std::unique_ptr<UpProcess>> start(const Options&);

  Result<Ok> wait_ready();
  void kill();  // -9, and waits until it is gone
  bool end();   // as Ctrl-C does; false: it had to be killed
  Child& child() { return *child_; }
  pid_t pid() const { return child_->pid(); }
  // What it said, without what a start before it did.
  std::string said() const;
  std::string log_tails() const override { return child_->log_tail(20); }

  std::size_t resident_kib() const;
  std::size_t peak_kib() const;  // since forget_peak()
  void forget_peak() const;
  std::size_t open_files() const;

 private:
  std::size_t status_kib(std::string_view field) const;
  std::filesystem::path kubeconfig_, log_;
  std::unique_ptr<Child> child_;
};

// One request, as the administrator.
Result<net::HttpResponse> ask(conformance::Wire&, std::string method, std::string target,
                              std::string body = {}, std::string content_type = "application/json");

}  // namespace berth::e2e
