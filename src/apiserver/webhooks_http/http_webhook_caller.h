// SPDX-License-Identifier: Apache-2.0
// Carries AdmissionReviews to webhooks over HTTPS: the peer is verified against the configuration's
// caBundle, redirects are not followed, and a reply is bounded.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "apiserver/admission/webhook_caller.h"
#include "apiserver/store/store.h"
#include "net/http_client.h"

namespace berth::apiserver {

// Where a service is reached, by its endpoints.
struct ServiceAddress {
  std::string host;
  std::uint16_t port = 0;
};
// Of the store's Endpoints or EndpointSlices. The error is worded as the real server's resolver
// words it.
Result<ServiceAddress> resolve_service(const Store&, std::string_view ns, std::string_view name,
                                       std::int64_t port);

// Loop-confined to its scope's executor, the API server's; sockets live on `io`, a loop of a
// RealRuntime.
class HttpWebhookCaller final : public WebhookCaller {
 public:
  HttpWebhookCaller(Scope& home, Executor& io, const Store&);

  void call(const WebhookTarget&, std::string review, Duration timeout, Done<std::string>) override;

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<net::HttpClient> client;
  };
  Result<std::shared_ptr<net::HttpClient>> client(const net::Origin&,
                                                  const std::string& server_name,
                                                  const std::string& ca);

  static constexpr std::size_t kMostClients = 64;
  Scope& scope_;
  Executor& io_;
  const Store& store_;
  std::list<Kept> clients_;  // lately used first
};

}  // namespace berth::apiserver
