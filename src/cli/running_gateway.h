// SPDX-License-Identifier: Apache-2.0
// The gateway on a loop of its own, with the page and its listeners.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/runtime.h"
#include "client/transport.h"
#include "gateway/service.h"
#include "net/tls.h"

namespace berth::gateway {
class Scavengers;
}

namespace berth::cli {

struct GatewayPlan {
  gateway::ServiceOptions service = {};
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  std::optional<net::TlsServerOptions> tls = {};
  std::uint16_t compat_port = 0;  // with a compat user: on 127.0.0.1, plain
  // Stands on the loop "gateway" and tells the cluster's time; null: that loop itself.
  std::shared_ptr<Executor> home = {};
  // Brings further routes; on the gateway's loop, where what it returns lives and ends.
  std::function<std::shared_ptr<void>(Scope&, gateway::Gateway&, gateway::Scavengers&)> also = {};
};

// Made, started and destroyed on a thread that is not its loop.
class RunningGateway {
 public:
  // All of them outlive it.
  RunningGateway(Runtime&, client::Transport&, Metrics&, Logger, GatewayPlan);
  ~RunningGateway();  // stops, and waits for that
  RunningGateway(const RunningGateway&) = delete;
  RunningGateway& operator=(const RunningGateway&) = delete;

  struct Ports {
    std::uint16_t main = 0, compat = 0;  // compat 0: there is none
  };
  Result<Ports> start();  // listening when it returns

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cli
