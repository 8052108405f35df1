// SPDX-License-Identifier: Apache-2.0
// From command-line options to a cluster one can talk to.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/runtime.h"
#include "client/cluster_config.h"
#include "client/http_transport.h"
#include "client/transport.h"

namespace berth::client {

struct ConnectOptions {
  std::string kubeconfig;  // --kubeconfig
  std::string context;     // --context
  std::string ns;          // --namespace; "" means the context's
  HttpTransportOptions http = {};
};

struct Cluster {
  std::string origin;  // `kubeconfig /a/b, context "dev"` or `in-cluster`
  std::string server;  // https://10.0.0.1:6443
  std::string ns;      // where namespaced requests go unless they say otherwise
  std::unique_ptr<Transport> transport;
};

// A kubeconfig where there is one, else the pod's own surroundings, as client-go chooses.
Result<ClusterConfig> choose_cluster(const Surroundings&, const ConnectOptions&);
// Nothing is sent yet. Errors are one line for the user: exit code 2.
Result<std::unique_ptr<Cluster>> connect(Runtime&, const ConnectOptions&, const Logger&,
                                         Surroundings = Surroundings::real());

}  // namespace berth::client
