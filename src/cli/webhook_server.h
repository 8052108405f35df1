// SPDX-License-Identifier: Apache-2.0
// Berth's webhooks as part of a command: the flags, and everything that answers and keeps them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "cli/command.h"
#include "controllers/admission/door.h"
#include "controllers/admission/feeds.h"
#include "controllers/admission/webhook_keeper.h"

namespace berth::cli {

struct WebhookFlags {
  std::string port = {};  // "": they are not answered
  std::string address = "0.0.0.0";
  std::string host = {};  // "": the Service
  std::string ns = "berth-system";
  std::vector<std::string> trusted = {};
  bool slot_resource = false;  // as of the controllers

  void add_to(Command&);
  bool wanted() const { return !port.empty(); }
  Result<std::uint16_t> checked_port() const;
};

// Loop-confined to its scope's executor; outlives that scope, as the transport and metrics do.
class WebhookServer {
 public:
  // `lease` is that of the operator; none: this process is the only one.
  WebhookServer(Scope&, client::Transport&, Metrics&, Logger, const Random&, const WebhookFlags&,
                std::optional<kube::Key> lease, std::function<bool()> leads);

  Result<Ok> start();
  bool serving() const { return keeper_ && keeper_->serving(); }

 private:
  Scope& scope_;
  client::Transport& transport_;
  Logger log_;
  Random random_;
  const WebhookFlags& flags_;
  std::function<bool()> leads_;
  controllers::AdmissionFeeds feeds_;
  controllers::AdmissionDoor door_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<controllers::WebhookKeeper> keeper_;
};

}  // namespace berth::cli
