// SPDX-License-Identifier: Apache-2.0
// The gateway with everything that it serves by itself, put together once for `berth up`,
// `berth gateway` and tests. Pages and further APIs mount on its routes before it starts.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/runtime.h"
#include "client/api.h"
#include "gateway/feeds.h"
#include "gateway/rest.h"
#include "gateway/server.h"
#include "gateway/timelines.h"

namespace berth::gateway {

struct ServiceOptions {
  GatewayOptions gateway = {};
  FeedsOptions feeds = {};
  std::string ns = "default";  // what /external and /topic mean without one
  bool strict_status = false;
  Runtime* runtime = nullptr;  // for work that takes long; null: all is done on the loop
};

// Loop-confined to its scope's executor; outlives that scope. The transport and metrics outlive
// both.
class Service {
 public:
  Service(Scope&, client::Transport&, Metrics&, const Logger&, const Random&, ServiceOptions);
  ~Service();

  Gateway& gateway() { return gateway_; }
  Feeds& feeds() { return feeds_; }
  void start();

 private:
  Gateway gateway_;
  client::Api api_;
  Feeds feeds_;
  SlotFeeds slots_;
  Timelines timelines_;
  Rest rest_;
};

}  // namespace berth::gateway
