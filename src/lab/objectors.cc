// SPDX-License-Identifier: Apache-2.0
#include "lab/objectors.h"

#include <algorithm>

#include "apiserver/admission/webhook.h"

namespace berth::lab {
namespace {

constexpr std::array<kube::KindId const*, 3> kKinds = {&kube::kMutatingWebhookConfiguration,
                                                       &kube::kValidatingWebhookConfiguration,
                                                       &kube::kValidatingAdmissionPolicy};

bool objects(const apiserver::Webhook& hook) {
  return may_ask(hook, apiserver::Operation::kUpdate, kube::kind_of(kube::kPod), "status");
}

}  // namespace

Objectors::Objectors(apiserver::Store& store) : store_(store) {
  for (std::size_t which = 0; which < kKinds.size(); ++which) follow(which);
}

Objectors::~Objectors() {
  for (const apiserver::WatchId id : watches_) store_.unwatch(id);
}

void Objectors::follow(std::size_t which) {
  watches_[which] = store_.watch({.kind = *kKinds[which], .after = store_.published()}, *this);
  store_.read(watches_[which], 1);
}

void Objectors::ready(apiserver::WatchId id) {
  any_.reset();
  for (;;) {
    const apiserver::WatchBatch batch = store_.read(id, 1'000);
    if (batch.end) break;
    if (!batch.more) return;
  }
  store_.unwatch(id);
  follow(
      static_cast<std::size_t>(std::find(watches_.begin(), watches_.end(), id) - watches_.begin()));
}

bool Objectors::any() const {
  if (!any_) any_ = look();
  return *any_;
}

bool Objectors::look() const {
  if (store_.count(kube::kValidatingAdmissionPolicy) > 0) return true;
  for (const kube::KindId kind :
       {kube::kMutatingWebhookConfiguration, kube::kValidatingWebhookConfiguration}) {
    const auto page = store_.list({.kind = kind});
    if (!page) return true;
    for (const kube::Object& configuration : page->items) {
      const auto hooks = apiserver::webhooks_of(configuration);
      if (std::any_of(hooks.begin(), hooks.end(), &objects)) return true;
    }
  }
  return false;
}

}  // namespace berth::lab
