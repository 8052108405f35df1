// SPDX-License-Identifier: Apache-2.0
// The server under test. BERTH_CONFORMANCE says which: "real" (kube-apiserver with the controllers
// that `berth up` has, built by `make real`), "embedded" (`berth up`), or the path of a kubeconfig
// of a cluster that already runs.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_client.h"

namespace berth::conformance {

// How to reach it as its administrator.
struct Access {
  net::Origin origin = {};
  net::TlsClientOptions tls = {};  // with the administrator's certificate, if that is how
  std::string token = {};          // or ""
};

// Thread-safe once it is up.
class Target {
 public:
  virtual ~Target() = default;
  // Started at the first call, for the whole run.
  static const Result<std::unique_ptr<Target>>& shared();
  static void stop_shared();
  static bool embedded();  // which one was asked for

  const Access& access() const { return access_; }
  virtual std::string log_tails() const { return ""; }

 protected:
  Result<Ok> read_kubeconfig(const std::string& path);

 private:
  Access access_;
};

}  // namespace berth::conformance
