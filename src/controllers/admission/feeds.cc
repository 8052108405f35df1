// SPDX-License-Identifier: Apache-2.0
#include "controllers/admission/feeds.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/lease_view.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_policy_view.h"

namespace berth::controllers {
namespace {

constexpr Duration kAskAgain = 10s;

client::InformerOptions of(kube::KindId kind) { return {.feed = {.kind = kind}}; }

// Of a SlotLedger: whose runs hold slots.
std::vector<std::pair<std::string, std::string>> grants_in(const kube::Object& ledger) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const json::Slice grant : ledger.member("spec")["grants"].elements()) {
    const std::string job = grant["job"].text();
    out.emplace_back(job.substr(0, job.find('/')), grant["id"].text());
  }
  return out;
}

}  // namespace

bool is_fresh(const kube::Object& lease, WallTime now) {
  if (!lease.valid()) return false;
  const kube::LeaseView view(lease);
  const auto renewed = view.renewed();
  return !view.holder().empty() && renewed && now < *renewed + view.duration();
}

AdmissionFeeds::AdmissionFeeds(Scope& scope, client::Transport& transport, const Random& random,
                               AdmissionFeedsOptions options)
    : scope_(scope),
      api_(scope, transport, random.fork("api")),
      options_(std::move(options)),
      policies_(scope, transport, random.fork("policies"), of(kube::scavenger_kinds().policy)),
      classes_(scope, transport, random.fork("classes"), of(kube::kPriorityClass)) {
  if (options_.lease)
    lease_ = std::make_unique<client::Informer<>>(
        scope, transport, random.fork("lease"),
        client::InformerOptions{
            .feed = {.kind = kube::kLease,
                     .ns = options_.lease->ns,
                     .field_selector = fmt::format("metadata.name={}", options_.lease->name)}});
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()}) {
    client::InformerOptions ledger = of(kinds->ledger);
    ledger.keep = client::Keep::kCompiled;
    ledgers_.push_back(std::make_unique<client::Informer<Grants>>(
        scope, transport, random.fork(kube::kind_of(kinds->ledger).group), ledger, &grants_in));
  }
}
AdmissionFeeds::~AdmissionFeeds() = default;

void AdmissionFeeds::start() {
  policies_.start();
  classes_.start();
  if (lease_) lease_->start();
  for (const auto& ledger : ledgers_) ledger->start();
  ask_who_we_are();
}

void AdmissionFeeds::ask_who_we_are() {
  api_.create(kube::kSelfSubjectReview, "",
              R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})",
              scope_.done<kube::Object>(kNoLimit, [this](Result<kube::Object> reply) {
                if (reply) {
                  std::string name = reply->status()["userInfo"]["username"].text();
                  if (!name.empty()) options_.accounts.ours.insert(std::move(name));
                  return;
                }
                if (reply.error().reason != Reason::kCancelled)
                  scope_.after(kAskAgain, [this] { ask_who_we_are(); });
              }));
}

bool AdmissionFeeds::operator_works() const {
  if (!lease_) return true;
  const kube::Object* lease = lease_->get(*options_.lease);
  return lease != nullptr && is_fresh(*lease, scope_.executor().clock().wall());
}

const kube::Object* AdmissionFeeds::policy() const {
  return policies_.get({"", std::string(kube::kScavengerPolicyName)});
}

bool AdmissionFeeds::asks_about_all_pods() const {
  return kube::read_scavenger_policy(policy()).reclaim;
}

admission::Surroundings AdmissionFeeds::now() const {
  admission::Surroundings out;
  take_in(policy(), operator_works(), out);
  std::vector<kube::Object> classes;
  for (const kube::Object* one : classes_.list()) classes.push_back(*one);
  take_in(classes, out);
  out.reserved.accounts = options_.accounts;
  out.reserved.slot_resource = options_.slot_resource;
  const bool known = std::any_of(ledgers_.begin(), ledgers_.end(),
                                 [](const auto& ledger) { return ledger->synced(); });
  if (known)
    out.reserved.granted = [this](std::string_view ns, std::string_view id) {
      for (const auto& ledgers : ledgers_)
        for (const Grants* grants : ledgers->list())
          for (const auto& [in, grant] : *grants)
            if (in == ns && grant == id) return true;
      return false;
    };
  return out;
}

}  // namespace berth::controllers
