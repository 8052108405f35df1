// SPDX-License-Identifier: Apache-2.0
// What the secure port shows of a running scheduler.
#pragma once

#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "client/api.h"
#include "scheduler/run/app.h"
#include "scheduler/serving/secure_port.h"

namespace berth::scheduler {

struct ServedOptions {
  SecurePortOptions port;
  std::string version;  // JSON
};

// Loop-confined to its scope's executor; outlives that scope.
class Served {
 public:
  // Null transports: nobody can be asked, so only what is open is served. Everything given outlives
  // it.
  Served(Scope& scope, client::Transport& cluster, client::Transport* authentication,
         client::Transport* authorization, const App& app, Metrics& metrics, const Logger& log,
         const Random& random, ServedOptions options);

  // As SecurePort's.
  Result<Ok> start(std::function<void(Error)> failed) { return port_.start(std::move(failed)); }

 private:
  ServingContent content(const App&, Metrics&, const SchedulerConfig&, std::string version);
  void list_resources(Done<std::string>);

  Scope& scope_;
  const App& app_;
  client::Api api_;
  SecurePort port_;
};

}  // namespace berth::scheduler
