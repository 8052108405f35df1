// SPDX-License-Identifier: Apache-2.0
// `berth extender` beside a stock kube-scheduler: the program itself, and what the scheduler has to
// be told of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster.h"

namespace berth::e2e {

// The part of a KubeSchedulerConfiguration that `berth extender --print scheduler-config` prints,
// from its extenders on.
Result<std::string> extenders_config(Cluster&, const std::string& slots_url,
                                     std::vector<std::string> flags = {});

// Thread-compatible.
class ExtenderProcess {
 public:
  static Result<std::unique_ptr<ExtenderProcess>> start(Cluster&);

  const std::string& url() const { return url_; }  // "http://127.0.0.1:port/slots"
  // What it answers to a POST; the path begins with a slash.
  Result<std::string> post(TestLoop&, const std::string& path, std::string body) const;
  Child& child() { return *child_; }

 private:
  std::unique_ptr<Child> child_;
  std::string url_;
  std::uint16_t port_ = 0;
};

}  // namespace berth::e2e
