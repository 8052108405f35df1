// SPDX-License-Identifier: Apache-2.0
// What a component shows of itself over HTTPS: health and metrics, to whom the cluster lets see it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "scheduler/serving/authentication.h"
#include "scheduler/serving/authorization.h"
#include "scheduler/serving/endpoints.h"
#include "scheduler/serving/secure_server.h"

namespace berth::scheduler {

struct SecurePortOptions {
  SecureServingOptions serving;
  AuthenticationOptions authentication;
  AuthorizationOptions authorization;
};

// Loop-confined to its scope's executor; outlives that scope.
class SecurePort {
 public:
  // Null transports: nobody can be asked, so only what is open is served. Everything given outlives
  // it.
  SecurePort(Scope& scope, client::Transport* authentication, client::Transport* authorization,
             ServingContent content, const Logger& log, const Random& random,
             SecurePortOptions options);

  // Listens, then learns whom to trust. `failed`: it cannot, and that is not tolerated.
  Result<Ok> start(std::function<void(Error)> failed);

 private:
  Scope& scope_;
  SecurePortOptions options_;
  Authenticator authenticator_;
  Authorizer authorizer_;
  Endpoints endpoints_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace berth::scheduler
