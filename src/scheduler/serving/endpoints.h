// SPDX-License-Identifier: Apache-2.0
// What kube-scheduler serves on its secure port: health, metrics and configuration, each request
// authenticated and authorised first.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/http_server.h"
#include "scheduler/serving/authentication.h"
#include "scheduler/serving/authorization.h"
#include "scheduler/serving/health.h"

namespace berth::scheduler {

// What there is to show. Called on the server's loop; what is null is not served (404).
struct ServingContent {
  // Where a list is empty, a check "ping" that always passes stands in.
  std::vector<HealthCheck> healthz = {}, livez = {}, readyz = {};
  std::function<std::string()> metrics = nullptr;
  // Answers with ResourceMetrics::take(), or "" while another process leads.
  std::function<void(Done<std::string>)> resources = nullptr;
  std::function<std::string()> configz = nullptr;  // JSON of the KubeSchedulerConfiguration
  std::string version = {};                        // JSON; "": not served
};

// Loop-confined to its scope's executor, which is the server's loop; outlives that scope.
class Endpoints final : public net::HttpHandler {
 public:
  // Everything given outlives it.
  Endpoints(Scope& scope, Authenticator&, Authorizer&, ServingContent, const Logger& log);

  void handle(net::HttpRequest, const net::HttpPeer&, net::HttpReply) override;

 private:
  struct Visit;
  using Page = std::function<void(const Visit&)>;
  void authorize(const std::shared_ptr<Visit>&, const UserInfo&);
  void serve(const Visit&);
  void add_health(const std::string& path, std::vector<HealthCheck> checks);
  void add_text(const std::string& path, std::string type, std::function<std::string()> text);

  Scope& scope_;
  Authenticator& authenticator_;
  Authorizer& authorizer_;
  const Logger& log_;
  std::map<std::string, Page, std::less<>> pages_;
};

}  // namespace berth::scheduler
