// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_webhooks.h"

#include <fmt/format.h>

#include "apiserver/admission/bootstrap.h"
#include "apiserver/admission/refusal.h"
#include "cluster/first_objects.h"
#include "controllers/registry.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_policy_view.h"

namespace berth::cluster {
namespace {

admission::Accounts accounts_here() {
  admission::Accounts out;
  for (const std::string& name : controllers::names_of(controllers::Registration::Whose::kBerth))
    out.ours.insert(controller_user(name));
  out.ours.insert("system:kube-scheduler");  // ours, with its doors
  out.ours.insert(controller_user(kReclaimer));
  return out;
}

// Whether a run in that namespace has that grant.
bool granted(const apiserver::Store& store, std::string_view ns, std::string_view grant) {
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()})
    for (const kube::Object& ledger : apiserver::all_at_tip(store, kinds->ledger))
      for (const json::Slice one : ledger.member("spec")["grants"].elements())
        if (one["id"].equals(grant)) {
          const std::string job = one["job"].text();
          if (std::string_view(job).substr(0, job.find('/')) == ns) return true;
        }
  return false;
}

}  // namespace

OwnWebhooks::OwnWebhooks(Scope& scope, apiserver::Store& store, bool wanted,
                         std::function<std::string()> uid)
    : scope_(scope),
      store_(store),
      wanted_(wanted),
      uid_(std::move(uid)),
      accounts_(accounts_here()) {
  // Where an earlier start was asked nobody answers any more.
  for (const admission::WebhookObject& object : admission::webhook_objects({}))
    if (store_.get(object.kind, object.key, apiserver::View::kTip) != nullptr)
      store_.write({.kind = object.kind, .key = object.key}, {});
}

admission::Surroundings OwnWebhooks::surroundings() const {
  admission::Surroundings out;
  const kube::Object* policy = store_.get(kube::scavenger_kinds().policy,
                                          {"", kube::kScavengerPolicyName}, apiserver::View::kTip);
  take_in(policy, true, out);
  take_in(apiserver::all_at_tip(store_, kube::kPriorityClass), out);
  out.reserved.accounts = accounts_;
  out.reserved.granted = [this](std::string_view ns, std::string_view grant) {
    return granted(store_, ns, grant);
  };
  return out;
}

void OwnWebhooks::answer_in(apiserver::LocalWebhookCaller& caller) {
  if (!wanted_) return;
  const admission::WebhookPlace place;
  for (const std::string& path : admission::webhook_paths())
    caller.handle(fmt::format("https://{}.{}.svc:443{}", place.service, place.service_ns, path),
                  [this, path](std::string_view review) {
                    return admission::answer(path, review, surroundings());
                  });
  answered_at(place);
}

void OwnWebhooks::answered_at(admission::WebhookPlace place) {
  if (!wanted_) return;
  place_ = std::move(place);
  write();
}

void OwnWebhooks::see(const apiserver::HistoryEvent& event) {
  if (place_ && event.after.valid() && event.after.kind() == kube::scavenger_kinds().policy)
    scope_.post([this] { write(); });
}

void OwnWebhooks::write() {
  const kube::Object* policy = store_.get(kube::scavenger_kinds().policy,
                                          {"", kube::kScavengerPolicyName}, apiserver::View::kTip);
  place_->polite = kube::read_scavenger_policy(policy).reclaim;
  std::vector<std::string> manifests;
  for (admission::WebhookObject& object : admission::webhook_objects(*place_))
    manifests.push_back(std::move(object.json));
  apiserver::write_current(store_, manifests, scope_.executor().clock().wall(), uid_);
}

}  // namespace berth::cluster
