// SPDX-License-Identifier: Apache-2.0
// An embedded cluster's webhooks are this process itself: asked by their handlers in virtual time,
// over HTTPS on this machine in real time. What they answer by is read from the store.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apiserver/admission/webhook_caller.h"
#include "apiserver/store/store.h"
#include "policy/admission/webhooks.h"

namespace berth::cluster {

// Loop-confined to the API server's.
class OwnWebhooks {
 public:
  // `wanted` false: nobody carries out what they are about, and none are left from an earlier time.
  OwnWebhooks(Scope&, apiserver::Store&, bool wanted, std::function<std::string()> uid);

  bool wanted() const { return wanted_; }
  // What they answer by now.
  admission::Surroundings surroundings() const;
  // Without a socket; and from now on they are asked.
  void answer_in(apiserver::LocalWebhookCaller&);
  // They are answered at that place, and asked from now on.
  void answered_at(admission::WebhookPlace);
  // A published change.
  void see(const apiserver::HistoryEvent&);

 private:
  void write();

  Scope& scope_;
  apiserver::Store& store_;
  bool wanted_;
  std::function<std::string()> uid_;
  std::optional<admission::WebhookPlace> place_;
  admission::Accounts accounts_;
};

}  // namespace berth::cluster
