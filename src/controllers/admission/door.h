// SPDX-License-Identifier: Apache-2.0
// Where an API server asks Berth about requests: a POST a review, and beside it health.
#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "base/metrics.h"
#include "net/http_server.h"
#include "policy/admission/webhooks.h"

namespace berth::controllers {

// Requests arrive on its server's loop and are answered on `home`. Outlives its server.
class AdmissionDoor final : public net::HttpHandler {
 public:
  using Look = std::function<admission::Surroundings()>;  // on home
  AdmissionDoor(Executor& home, Look look, Metrics& metrics);
  ~AdmissionDoor() override;

  void handle(net::HttpRequest, const net::HttpPeer&, net::HttpReply) override;

  // What a listener is to be started with; address, port and TLS are the caller's.
  static net::HttpServerOptions server_options();

 private:
  struct Core;  // lives as long as a request does
  Executor& home_;
  std::shared_ptr<Core> core_;
};

}  // namespace berth::controllers
