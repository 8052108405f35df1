// SPDX-License-Identifier: Apache-2.0
// The extender as a kube-scheduler reaches it: POST /slots/filter, /slots/preempt and
// /scavengers/preempt, and beside them health and metrics.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "gateway/extender/scavenger_preempt.h"
#include "gateway/extender/slot_door.h"
#include "net/http_server.h"
#include "runtime/slots/slot_feeds.h"

namespace berth::gateway {

// Loop-confined to its scope's executor, on which its HttpServer runs too; outlives that scope. The
// transport and metrics outlive both.
class ExtenderService final : public net::HttpHandler {
 public:
  ExtenderService(Scope&, client::Transport&, Metrics&, Logger, const Random&);
  ~ExtenderService() override;

  void start();
  // All that the cluster has is known. It need not have the kinds of both tasks, but of one.
  bool ready() const {
    return feeds_.settled() && scavengers_.settled() && (feeds_.synced() || scavengers_.synced());
  }
  runtime::SlotFeeds& feeds() { return feeds_; }
  SlotDoor& door() { return door_; }
  ScavengerPreempt& scavengers() { return scavengers_; }

  void handle(net::HttpRequest, const net::HttpPeer&, net::HttpReply) override;
  // The same without a socket.
  void answer(net::HttpRequest, std::function<void(net::HttpResponse)>);

  // What a listener in front is to be started with; address, port and TLS are the caller's.
  static net::HttpServerOptions server_options();

 private:
  using Send = std::function<void(net::HttpResponse)>;
  void filter(const std::string& body, Send);
  void preempt(const std::string& body, Send);
  void interrupt(const std::string& body, const Send&);
  Send measured(std::string verb, Send);

  Scope& scope_;
  Logger log_;
  Metrics& metrics_;
  client::Api api_;
  client::EventRecorder events_;
  runtime::SlotFeeds feeds_;
  SlotDoor door_;
  ScavengerPreempt scavengers_;
  Labelled<Counter> requests_;
  Labelled<Histogram> seconds_;
};

}  // namespace berth::gateway
