// SPDX-License-Identifier: Apache-2.0
// Keeps the webhooks answered and trusted: serves the certificate of the Secret, and where it
// leads, makes it, renews it, and writes the webhook objects once somebody answers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "client/api.h"
#include "policy/admission/rotation.h"
#include "policy/admission/webhooks.h"

namespace berth::controllers {

struct WebhookKeeperOptions {
  kube::Key secret = {"berth-system", "berth-webhook-tls"};
  admission::WebhookPlace place = {};  // without bundle
  admission::RotationTimes times = {};
};

// What it is given by whoever runs it.
struct WebhookKeeperMeans {
  // A certificate for these names and addresses, valid from now on.
  std::function<Result<admission::FreshCertificate>(const admission::WebhookPlace&, Duration life)>
      make;
  // Answer with this one from now on; an error: it cannot be used.
  std::function<Result<Ok>(const admission::FreshCertificate&)> serve;
  std::function<bool()> leads;
  std::function<bool()> asks_about_all_pods;
};

// Loop-confined to its scope's executor; outlives that scope. A look reads three objects; there is
// one every half minute at least.
class WebhookKeeper {
 public:
  WebhookKeeper(Scope&, client::Transport&, Random, Logger, WebhookKeeperOptions,
                WebhookKeeperMeans);

  void start() { look(); }
  void look_again();  // something may have changed
  bool serving() const { return served_.has_value(); }

 private:
  void look();
  void look_in(Duration);
  void on_secret(Result<kube::Object>);
  void read_object(std::size_t which);
  void on_object(std::size_t which, Result<kube::Object>);
  void decide();
  void write_secret(admission::RotationStep);
  void publish(std::size_t which);
  void written(std::string_view what, const Result<kube::Object>&);
  void failed(std::string_view what, const Error&);

  Scope& scope_;
  client::Api api_;
  Logger log_;
  WebhookKeeperOptions options_;
  WebhookKeeperMeans means_;

  // Of the look that is under way.
  kube::Object secret_;
  admission::RotationSight sight_;
  std::vector<admission::WebhookObject> wanted_;
  std::vector<kube::Object> there_;

  std::optional<admission::FreshCertificate> served_;
  std::string seen_bundle_;
  std::optional<Instant> seen_since_;
  TimerId timer_ = TimerId::kNone;
  bool looking_ = false, again_ = false;
};

}  // namespace berth::controllers
