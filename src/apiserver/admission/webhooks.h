// SPDX-License-Identifier: Apache-2.0
// All webhooks of a cluster. Those that change things are asked one after the other, by the names
// of their configurations; those that only judge are asked at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission/webhook.h"
#include "base/random.h"

namespace berth::apiserver {

// Loop-confined to its scope's executor, the store's. All that it refers to outlives it.
class ClusterWebhooks final : public Webhooks, private WatchSink {
 public:
  // `steps` are run once more after a webhook has changed something, as the real server does.
  ClusterWebhooks(Scope&, Store&, const KindRegistry&, WebhookCaller&, Random,
                  const std::vector<std::unique_ptr<AdmissionStep>>& steps);
  ~ClusterWebhooks() override;

  bool mutates(const AdmissionCall&) const override;
  bool validates(const AdmissionCall&) const override;
  void mutate(AdmissionCall&, Done<Ok>) override;
  void validate(AdmissionCall&, Done<Ok>) override;

 private:
  class Mutation;
  class Validation;
  using Hooks = std::shared_ptr<const std::vector<Webhook>>;

  void ready(WatchId) override;
  void follow(std::size_t which);
  Hooks hooks(std::size_t which) const;
  bool any(std::size_t which, const AdmissionCall&) const;
  // Asks one; the verdict, or the error as the client gets it. Nothing where its failure is
  // ignored.
  void ask(const WebhookInvocation&, AdmissionCall&, bool mutating,
           Done<std::optional<WebhookVerdict>>);

  Scope& scope_;
  Store& store_;
  const KindRegistry& kinds_;
  WebhookCaller& caller_;
  Random random_;
  const std::vector<std::unique_ptr<AdmissionStep>>& steps_;
  WatchId watches_[2] = {};
  mutable Hooks hooks_[2];  // mutating, validating; null: something changed
};

// Refuses configurations that this server could not honour: those with CEL expressions.
std::unique_ptr<AdmissionStep> webhook_configurations();

}  // namespace berth::apiserver
