// SPDX-License-Identifier: Apache-2.0
// The flags of a component's secure port, as Kubernetes' own components have them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "cli/command.h"
#include "client/connect.h"
#include "scheduler/serving/secure_port.h"

namespace berth::cli {

struct ServingFlags {
  std::string bind_address = "0.0.0.0";
  std::int64_t secure_port = 10259;
  std::string tls_cert_file = {}, tls_key_file = {}, client_ca_file = {};
  std::string authentication_kubeconfig = {}, authorization_kubeconfig = {};
  bool skip_lookup = false;
  std::string tolerate_lookup_failure = "true";
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};

  void add_to(Command&);
  // What is wrong is told now, not when the server is to start or somebody calls.
  Result<scheduler::SecurePortOptions> options() const;
};

// The clusters that are asked about callers, where they are not the component's own.
class AskedClusters {
 public:
  static Result<AskedClusters> connect(Runtime&, const ServingFlags&, const Logger&);
  client::Transport* authentication(client::Transport& own) const {
    return authentication_ ? authentication_->transport.get() : &own;
  }
  client::Transport* authorization(client::Transport& own) const {
    return authorization_ ? authorization_->transport.get() : &own;
  }

 private:
  std::unique_ptr<client::Cluster> authentication_, authorization_;
};

// How /version tells which Berth this is.
std::string version_json();
// For lease holders.
std::string host_name();

}  // namespace berth::cli
