// SPDX-License-Identifier: Apache-2.0
#include "client/connect.h"

#include <utility>

#include "client/in_cluster.h"
#include "client/kubeconfig.h"

namespace berth::client {

Result<ClusterConfig> choose_cluster(const Surroundings& surroundings,
                                     const ConnectOptions& options) {
  Result<ClusterConfig> config =
      load_kubeconfig(surroundings, {.path = options.kubeconfig, .context = options.context});
  if (!config && config.error().reason == Reason::kNotFound) {
    // A context that was asked for is not to be found in a pod's surroundings.
    Result<ClusterConfig> pod =
        options.context.empty() ? in_cluster(surroundings) : tl::unexpected(config.error());
    if (pod || pod.error().reason != Reason::kNotFound)
      config = std::move(pod);
    else
      config.error().reason = Reason::kInvalid;
  }
  if (config && !options.ns.empty()) config->ns = options.ns;
  return config;
}

Result<std::unique_ptr<Cluster>> connect(Runtime& runtime, const ConnectOptions& options,
                                         const Logger& log, Surroundings surroundings) {
  Result<ClusterConfig> config = choose_cluster(surroundings, options);
  if (!config) return tl::unexpected(config.error());
  auto cluster = std::make_unique<Cluster>();
  cluster->origin = config->origin;
  cluster->server = config->server;
  cluster->ns = config->ns;
  Result<std::unique_ptr<HttpTransport>> transport = HttpTransport::create(
      runtime, std::move(*config), log, options.http, std::move(surroundings));
  if (!transport) return tl::unexpected(transport.error());
  cluster->transport = std::move(*transport);
  return cluster;
}

}  // namespace berth::client
