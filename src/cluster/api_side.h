// SPDX-License-Identifier: Apache-2.0
// What of an embedded cluster lives on the API loop: the store, the server with everything that
// has a say in a request, custom kinds, and the simulated nodes.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/webhook_caller.h"
#include "apiserver/auth/authenticator.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/auth/service_account_tokens.h"
#include "apiserver/crd/custom_kinds.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/openapi/openapi.h"
#include "apiserver/serve/server.h"
#include "apiserver/store/store.h"
#include "cluster/cluster.h"
#include "cluster/own_webhooks.h"
#include "lab/lab.h"

namespace berth::cluster {

// Loop-confined to its scope's executor.
class ApiSide {
 public:
  ApiSide(Scope& scope, Runtime& runtime, Metrics& metrics, const Logger& log, const Random& random,
          const ClusterOptions& options);
  ~ApiSide();

  // Takes over what was kept, writes what every cluster has; `ready` once requests are answered.
  void start(std::function<void(Result<Ok>)> ready);
  void start_lab();
  void reached_at(const std::string& address, std::uint16_t port);
  OwnWebhooks& own_webhooks() { return *own_webhooks_; }

  apiserver::Server& server() { return *server_; }
  lab::Lab* lab() { return lab_.get(); }

 private:
  void make_lab(bool is_new);

  Scope& scope_;
  const ClusterOptions& options_;
  Logger log_;
  Random random_;
  Metrics& metrics_;
  std::uint64_t changes_ = 0;  // that somebody made
  std::unique_ptr<apiserver::Journal> journal_;
  std::unique_ptr<apiserver::Store> store_;
  apiserver::KindRegistry kinds_;
  apiserver::OpenApi open_api_;
  apiserver::ServiceAccountTokens tokens_;
  std::unique_ptr<apiserver::Rbac> rbac_;
  std::unique_ptr<apiserver::TokenAuthenticator> authenticator_;
  std::unique_ptr<OwnWebhooks> own_webhooks_;
  std::unique_ptr<apiserver::WebhookCaller> webhooks_;
  apiserver::Admission admission_;
  std::unique_ptr<apiserver::CustomKinds> custom_kinds_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<lab::Lab> lab_;
};

}  // namespace berth::cluster
