// SPDX-License-Identifier: Apache-2.0
#include "cli/on_cluster.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace berth::cli {

Result<int> run_on_cluster(int when_interrupted, const client::ConnectOptions& options,
                           const StartWithCluster& start) {
  return run_on_loop(when_interrupted,
                     [&](Runtime& runtime, Scope& scope, const Logger& log,
                         const Finish& finish) -> std::shared_ptr<void> {
                       Result<std::unique_ptr<client::Cluster>> cluster =
                           client::connect(runtime, options, log);
                       if (cluster) return start(scope, *std::move(cluster), finish);
                       finish(tl::unexpected(usage_error(cluster.error().message)));
                       return nullptr;
                     });
}

Error asked_of(const client::Cluster& cluster, Error error) {
  error.message += fmt::format(" ({})", cluster.origin);
  if (error.reason == Reason::kUnreachable || error.reason == Reason::kTimeout)
    error.message += "; is the server running, and is its address right?";
  return error;
}

}  // namespace berth::cli
