// SPDX-License-Identifier: Apache-2.0
// Asks a credential plugin (client.authentication.k8s.io v1 and v1beta1) who we are.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/cluster_config.h"

namespace berth::client {

struct ExecCredential {
  std::string token;
  std::string certificate_pem, key_pem;
  std::optional<WallTime> expires;
};

// The JSON that a plugin finds in KUBERNETES_EXEC_INFO. `ca_pem` is the cluster's, as read.
std::string exec_info(const ExecPlugin&, const ClusterConfig&, std::string_view ca_pem,
                      bool interactive);
// A plugin's answer; the error names the plugin's place in the configuration.
Result<ExecCredential> parse_exec_credential(const ExecPlugin&, std::string_view output);
// Blocking; killed when `stop` turns true.
Result<ExecCredential> run_exec_plugin(const ExecPlugin&, const ClusterConfig&,
                                       std::string_view ca_pem, const Surroundings&, const Clock&,
                                       const std::atomic<bool>& stop);

}  // namespace berth::client
