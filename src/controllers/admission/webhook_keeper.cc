// SPDX-License-Identifier: Apache-2.0
#include "controllers/admission/webhook_keeper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::controllers {
namespace {

constexpr Duration kAfterFailure = 5s, kFollow = 15s;

std::string names_of(const admission::WebhookPlace& place) {
  std::vector<std::string> all = place.dns_names();
  for (std::string& address : place.addresses()) all.push_back(std::move(address));
  return fmt::format("{}", fmt::join(all, ","));
}

bool is_missing(const Error& error) { return error.reason == Reason::kNotFound; }

}  // namespace

WebhookKeeper::WebhookKeeper(Scope& scope, client::Transport& transport, Random random, Logger log,
                             WebhookKeeperOptions options, WebhookKeeperMeans means)
    : scope_(scope),
      api_(scope, transport, random.fork("api")),
      log_(std::move(log)),
      options_(std::move(options)),
      means_(std::move(means)) {}

void WebhookKeeper::look_again() {
  if (looking_)
    again_ = true;
  else
    look_in(Duration{});
}

void WebhookKeeper::look_in(Duration when) {
  looking_ = false;
  if (std::exchange(again_, false)) when = Duration{};
  scope_.cancel(timer_);
  timer_ = scope_.after(when, [this] { look(); });
}

void WebhookKeeper::look() {
  looking_ = true;
  api_.get(kube::kSecret, options_.secret,
           scope_.done<kube::Object>(
               kNoLimit, [this](Result<kube::Object> secret) { on_secret(std::move(secret)); }));
}

void WebhookKeeper::on_secret(Result<kube::Object> secret) {
  if (!secret && !is_missing(secret.error())) return failed("read the Secret", secret.error());
  secret_ = secret ? *secret : kube::Object();
  sight_ = {.secret = admission::read_certificates(secret_), .names = names_of(options_.place)};
  if (sight_.secret && sight_.secret->served != served_) {
    if (const Result<Ok> used = means_.serve(sight_.secret->served); used) {
      served_ = sight_.secret->served;
    } else {
      log_.warn("the webhooks' certificate cannot be used",
                {{"secret", options_.secret.text()}, {"error", used.error()}});
      sight_.secret.reset();
    }
  }
  sight_.serving = sight_.secret && sight_.secret->served == served_;
  if (!means_.leads()) return look_in(kFollow);
  admission::WebhookPlace place = options_.place;
  place.polite = means_.asks_about_all_pods();
  if (sight_.secret) place.ca_bundle = sight_.secret->bundle();
  wanted_ = webhook_objects(place);
  there_.assign(wanted_.size(), kube::Object());
  read_object(0);
}

void WebhookKeeper::read_object(std::size_t which) {
  if (which == wanted_.size()) return decide();
  api_.get(wanted_[which].kind, wanted_[which].key,
           scope_.done<kube::Object>(kNoLimit, [this, which](Result<kube::Object> object) {
             on_object(which, std::move(object));
           }));
}

void WebhookKeeper::on_object(std::size_t which, Result<kube::Object> object) {
  if (!object && !is_missing(object.error()))
    return failed("read the webhook objects", object.error());
  if (object) there_[which] = *object;
  read_object(which + 1);
}

void WebhookKeeper::decide() {
  sight_.published = true;
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    sight_.published =
        sight_.published && there_[i].valid() && says_the_same(there_[i], wanted_[i]);
  const Clock& clock = scope_.executor().clock();
  const std::string bundle = sight_.published && sight_.secret ? sight_.secret->bundle() : "";
  if (bundle != seen_bundle_) {
    seen_bundle_ = bundle;
    seen_since_ = bundle.empty() ? std::nullopt : std::optional(clock.now());
  }
  sight_.published_since = seen_since_;
  const admission::RotationDecision decision =
      admission::decide(sight_, options_.times, clock.wall(), clock.now());
  switch (decision.step) {
    case admission::RotationStep::kNone:
      return look_in(decision.again);
    case admission::RotationStep::kPublish:
      return publish(0);
    default:
      return write_secret(decision.step);
  }
}

void WebhookKeeper::write_secret(admission::RotationStep step) {
  admission::FreshCertificate fresh;
  if (step == admission::RotationStep::kMake || step == admission::RotationStep::kAnnounce) {
    auto made = means_.make(options_.place, options_.times.life);
    if (!made) return failed("make a certificate", made.error());
    fresh = *std::move(made);
  }
  const admission::Certificates next =
      admission::after(step, sight_, fresh, options_.times, scope_.executor().clock().wall());
  const std::string what = fmt::format("{} the webhooks' certificate", name_of(step));
  const std::string json = secret_json(options_.secret, next, secret_);
  auto done = scope_.done<kube::Object>(
      kNoLimit, [this, what](const Result<kube::Object>& reply) { written(what, reply); });
  if (secret_.valid())
    api_.update(kube::kSecret, options_.secret, json, std::move(done));
  else
    api_.create(kube::kSecret, options_.secret.ns, json, std::move(done));
}

void WebhookKeeper::publish(std::size_t which) {
  while (which < wanted_.size() && there_[which].valid() &&
         says_the_same(there_[which], wanted_[which]))
    ++which;
  if (which == wanted_.size()) return look_in(Duration{});
  const admission::WebhookObject& wanted = wanted_[which];
  auto done = scope_.done<kube::Object>(kNoLimit, [this, which](const Result<kube::Object>& reply) {
    if (!reply) return written("publish the webhooks", reply);
    there_[which] = *reply;
    log_.info("webhooks are published", {{"name", wanted_[which].key.name}});
    publish(which + 1);
  });
  if (!there_[which].valid()) return api_.create(wanted.kind, "", wanted.json, std::move(done));
  // The whole object, but only over the version that was looked at.
  const json::Slice document(wanted.json);
  api_.update(
      wanted.kind, wanted.key,
      fmt::format(
          R"({{"apiVersion":{},"kind":{},"metadata":{{"name":{},"labels":{},"uid":"{}","resourceVersion":"{}"}},"webhooks":{}}})",
          document["apiVersion"].raw(), document["kind"].raw(), document["metadata"]["name"].raw(),
          document["metadata"]["labels"].raw(), there_[which].uid(), there_[which].revision(),
          document["webhooks"].raw()),
      std::move(done));
}

void WebhookKeeper::written(std::string_view what, const Result<kube::Object>& reply) {
  if (reply) {
    log_.info("webhooks", {{"did", what}});
    return look_in(Duration{});
  }
  // Somebody else was faster, or its answer was lost: what is there now tells.
  const Reason reason = reply.error().reason;
  if (reason == Reason::kConflict || reason == Reason::kAlreadyExists) return look_in(1s);
  failed(what, reply.error());
}

void WebhookKeeper::failed(std::string_view what, const Error& error) {
  if (error.reason == Reason::kCancelled) return;
  log_.warn("webhooks", {{"could not", what}, {"error", error}});
  look_in(kAfterFailure);
}

}  // namespace berth::controllers
