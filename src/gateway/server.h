// SPDX-License-Identifier: Apache-2.0
// The door for people's tools and pages: counts, checks where a request comes from, finds its
// route, asks the cluster who is calling and whether they may, and only then lets the route answer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "client/transport.h"
#include "gateway/auth.h"
#include "gateway/limits.h"
#include "gateway/origin.h"
#include "gateway/routes.h"
#include "gateway/seats.h"
#include "net/http_server.h"

namespace berth::gateway {

struct GatewayOptions {
  Limits limits = {};
  OriginRules origin = {};
  AuthOptions auth = {};
  // Who callers without a token are at the second door, whose listener is on this machine only:
  // the thesis' client knows no tokens. "": there is none.
  std::string compat_user = {};
};

// Loop-confined to its scope's executor, on which its HttpServers run too; outlives that scope.
//   Gateway gateway(scope, transport, metrics, log, {});
//   mount_pages(gateway.routes());
//   auto server = net::HttpServer::start(loop, gateway.server_options(), gateway.door());
class Gateway {
 public:
  Gateway(Scope&, client::Transport&, Metrics&, Logger, GatewayOptions);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  Routes& routes();  // filled before the first request
  Auth& auth();
  Scope& scope();
  const GatewayOptions& options() const;

  net::HttpHandler& door();
  // Null unless there is a compat user. It answers callers on this machine only.
  net::HttpHandler* compat_door();

  // What a listener in front is to be started with; address, port and TLS are the caller's.
  net::HttpServerOptions server_options() const;
  Seats& seats();  // of streams that are open
  const Logger& log() const;

 private:
  struct State;
  class Door;
  class Exchange;
  std::shared_ptr<State> state_;
};

}  // namespace berth::gateway
