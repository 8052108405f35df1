// SPDX-License-Identifier: Apache-2.0
// How a pod reaches the API server of its own cluster.
#pragma once

#include "base/result.h"
#include "client/cluster_config.h"

namespace berth::client {

// From KUBERNETES_SERVICE_HOST and _PORT and the mounted service account. NotFound: this is not a
// pod, or it has no service account. Token and CA are files that are read anew while we run.
Result<ClusterConfig> in_cluster(const Surroundings&);

}  // namespace berth::client
