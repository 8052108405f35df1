// SPDX-License-Identifier: Apache-2.0
// How an AdmissionReview reaches a webhook: over HTTPS, or in virtual time by a handler that is
// registered here and needs no socket. Both get the same bytes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/scope.h"

namespace berth::apiserver {

struct WebhookTarget {
  std::string url;        // "https://hook.example.com/path"; of a service its name in the cluster
  std::string ca_bundle;  // PEM; "": the system's
  // Where `url` names a service.
  std::string service_ns = {}, service_name = {};
};

class WebhookCaller {
 public:
  virtual ~WebhookCaller() = default;
  // Posts the review and gives the reply's body, of no more than kMostReplyBytes. The error's
  // message says what happened as Go's client does; a redirect is no reply.
  virtual void call(const WebhookTarget&, std::string review, Duration timeout,
                    Done<std::string>) = 0;

  static constexpr std::size_t kMostReplyBytes = std::size_t{3} << 20;
};

// Loop-confined to the API server's.
class LocalWebhookCaller final : public WebhookCaller {
 public:
  using Handler = std::function<Result<std::string>(std::string_view review)>;
  // By the URL without its query: "https://hooks.berth-system.svc:443/mutate".
  void handle(std::string url, Handler handler) { handlers_[std::move(url)] = std::move(handler); }

  void call(const WebhookTarget&, std::string review, Duration timeout, Done<std::string>) override;

 private:
  std::map<std::string, Handler> handlers_;
};

}  // namespace berth::apiserver
