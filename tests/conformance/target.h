// SPDX-License-Identifier: Apache-2.0
// The server under test. BERTH_CONFORMANCE says which: "real" (kube-apiserver with the controllers
// that `berth up` has, built by `make real`), "embedded" (`berth up`), or the path of a kubeconfig
// of a cluster that already runs.
#pragma once

#include <memory>
#include <string>

#include "access.h"
#include "base/result.h"

namespace berth::conformance {

using e2e::Access;

// Thread-safe once it is up.
class Target {
 public:
  virtual ~Target() = default;
  // Started at the first call, for the whole run.
  static const Result<std::unique_ptr<Target>>& shared();
  static void stop_shared();
  static bool embedded();  // which one was asked for

  const Access& access() const { return access_; }  // as its administrator
  virtual std::string log_tails() const { return ""; }

 protected:
  Result<Ok> read_kubeconfig(const std::string& path);

 private:
  Access access_;
};

}  // namespace berth::conformance
