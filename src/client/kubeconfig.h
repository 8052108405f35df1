// SPDX-License-Identifier: Apache-2.0
// Finds, merges and resolves kubeconfig files as client-go does. Every error is one line that names
// the file, the place in it and the remedy.
#pragma once

#include <string>

#include "base/result.h"
#include "client/cluster_config.h"
#include "client/surroundings.h"

namespace berth::client {

struct KubeconfigChoice {
  std::string path;     // --kubeconfig; "" means KUBECONFIG, else ~/.kube/config
  std::string context;  // --context; "" means current-context
};

// NotFound means that nothing is configured at all, so a pod may look at its own surroundings;
// every other mistake is Invalid. Files that the configuration names (certificates, tokens) are
// not read here.
Result<ClusterConfig> load_kubeconfig(const Surroundings&, const KubeconfigChoice&);

}  // namespace berth::client
