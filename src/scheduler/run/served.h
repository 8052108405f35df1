// SPDX-License-Identifier: Apache-2.0
// What the secure port shows of a running scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "client/api.h"
#include "client/connect.h"
#include "net/http_server.h"
#include "scheduler/run/app.h"
#include "scheduler/serving/authentication.h"
#include "scheduler/serving/authorization.h"
#include "scheduler/serving/endpoints.h"
#include "scheduler/serving/secure_server.h"

namespace berth::scheduler {

struct ServedOptions {
  SecureServingOptions serving;
  AuthenticationOptions authentication;
  AuthorizationOptions authorization;
  std::string version;  // JSON
};

// Loop-confined to its scope's executor; outlives that scope.
class Served {
 public:
  // Null transports: nobody can be asked, so only what is open is served. Everything given outlives
  // it.
  Served(Scope& scope, client::Transport& cluster, client::Transport* authentication,
         client::Transport* authorization, const App& app, Metrics& metrics, const Logger& log,
         Random random, ServedOptions options);

  // Listens, then learns whom to trust. `failed`: it cannot, and that is not tolerated.
  Result<Ok> start(std::function<void(Error)> failed);

 private:
  ServingContent content(const App&, Metrics&, const SchedulerConfig&, std::string version);
  void list_resources(Done<std::string>);

  Scope& scope_;
  const App& app_;
  client::Api api_;
  ServedOptions options_;
  Authenticator authenticator_;
  Authorizer authorizer_;
  Endpoints endpoints_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace berth::scheduler
