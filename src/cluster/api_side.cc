// SPDX-License-Identifier: Apache-2.0
#include "cluster/api_side.h"

#include <fmt/format.h>

#include "apiserver/admission/bootstrap.h"
#include "apiserver/admission/steps.h"
#include "apiserver/admission/webhooks.h"
#include "apiserver/reviews/reviews.h"
#include "apiserver/store/sqlite_journal.h"
#include "apiserver/store/table.h"
#include "cluster/first_objects.h"
#include "kube/pod_view.h"
#include "kube/uid.h"
#include "lab/attach.h"

namespace berth::cluster {
namespace {

using apiserver::IndexSpec;

// What is asked for by more than its name: the pods of a node, the events of an object.
std::vector<IndexSpec> indexes() {
  const auto by = [](kube::KindId kind, std::string field, IndexSpec::Of of, auto read) {
    return IndexSpec{kind, std::move(field), of,
                     [read](const kube::Object& object, std::vector<std::string>& values) {
                       if (std::string text = read(object).text(); !text.empty())
                         values.push_back(std::move(text));
                     }};
  };
  return {by(kube::kPod, "spec.nodeName", IndexSpec::Of::kBody,
             [](const kube::Object& pod) { return pod.member("spec")["nodeName"]; }),
          by(kube::kCoreEvent, "involvedObject.uid", IndexSpec::Of::kBody,
             [](const kube::Object& event) { return event.member("involvedObject")["uid"]; })};
}

// Whether somebody did something: heartbeats go on for ever, and events tell what was counted.
bool tells_of_work(const apiserver::HistoryEvent& event) {
  const kube::KindId kind = event.after.kind();
  if (kind == kube::kLease || kind == kube::kCoreEvent) return false;
  if (kind != kube::kNode || !event.before.valid() || event.deleted) return true;
  const auto ready = [](const kube::Object& node) {
    return kube::find_condition(node.status(), "Ready")["status"].raw();
  };
  return event.before.member("spec").raw() != event.after.member("spec").raw() ||
         event.before.metadata()["annotations"].raw() !=
             event.after.metadata()["annotations"].raw() ||
         ready(event.before) != ready(event.after);
}

apiserver::AuthenticatorOptions authenticator_options(const ClusterOptions& options) {
  if (options.owner_token.empty()) return {};
  return {.tokens = {{options.owner_token, owner_of_cluster()}}};
}

std::unique_ptr<apiserver::Journal> journal_of(Runtime& runtime, const ClusterOptions& options) {
  if (!options.data_dir) return nullptr;
  return std::make_unique<apiserver::SqliteJournal>(
      runtime.loop("disk"), runtime.loop("checkpoints"),
      apiserver::SqliteOptions{.folder = *options.data_dir / "store", .fsync = options.fsync});
}

}  // namespace

ApiSide::ApiSide(Scope& scope, Runtime& runtime, Metrics& metrics, const Logger& log,
                 const Random& random, const ClusterOptions& options)
    : scope_(scope),
      options_(options),
      log_(log),
      random_(random),
      metrics_(metrics),
      journal_(journal_of(runtime, options)),
      store_(std::make_unique<apiserver::Store>(
          scope,
          apiserver::StoreOptions{.indexes = indexes(),
                                  .observe =
                                      [this](const apiserver::HistoryEvent& event) {
                                        changes_ += tells_of_work(event) ? 1 : 0;
                                        if (own_webhooks_) own_webhooks_->see(event);
                                        if (options_.observe) options_.observe(event);
                                      }},
          journal_.get())),
      open_api_(kinds_),
      tokens_(options.token_key) {}

ApiSide::~ApiSide() = default;

void ApiSide::start(std::function<void(Result<Ok>)> ready) {
  if (journal_ != nullptr) {
    const auto lost = store_->recover(options_.salvage ? apiserver::Recovery::kSalvage
                                                       : apiserver::Recovery::kWhole);
    if (!lost) return ready(tl::unexpected(lost.error()));
    for (const apiserver::Damage& damage : *lost) log_.error("lost", {{"what", damage.text()}});
  }
  const bool is_new = store_->stats().objects == 0;
  // So that a second start draws no uid that an object has already.
  random_ = random_.fork(std::to_string(store_->tip()));
  const Executor& loop = scope_.executor();
  Random uids = random_.fork("first objects");
  const auto write = [&](const std::vector<std::string>& manifests) {
    apiserver::write_bootstrap(*store_, manifests, loop.clock().wall(),
                               [&uids] { return kube::random_uid(uids); });
  };
  // Before all others: if the first start is cut short, the next one finds either these or nothing.
  if (is_new) write(objects_of_a_new_cluster(options_));
  write(first_objects(options_));
  custom_kinds_ = std::make_unique<apiserver::CustomKinds>(scope_, *store_, kinds_, log_);
  rbac_ = std::make_unique<apiserver::Rbac>(*store_);
  authenticator_ = std::make_unique<apiserver::TokenAuthenticator>(*store_, tokens_, *rbac_,
                                                                   authenticator_options(options_));
  admission_.steps =
      apiserver::default_steps(*store_, *rbac_, random_.fork("admission"), rbac_.get());
  own_webhooks_ = std::make_unique<OwnWebhooks>(
      scope_, *store_, runs_ours(options_),
      [random = random_.fork("own webhooks")]() mutable { return kube::random_uid(random); });
  if (options_.webhooks) {
    webhooks_ = options_.webhooks(scope_, *store_);
  } else {
    auto here = std::make_unique<apiserver::LocalWebhookCaller>();
    own_webhooks_->answer_in(*here);
    webhooks_ = std::move(here);
  }
  admission_.webhooks = std::make_unique<apiserver::ClusterWebhooks>(
      scope_, *store_, kinds_, *webhooks_, random_.fork("webhooks"), admission_.steps);
  server_ = std::make_unique<apiserver::Server>(
      scope_, apiserver::ServerParts{.store = *store_,
                                     .kinds = kinds_,
                                     .admission = admission_,
                                     .authenticator = *authenticator_,
                                     .authorizer = *rbac_,
                                     .metrics = metrics_,
                                     .log = log_,
                                     .random = random_.fork("server")});
  server_->page("/openapi/",
                [this](const kube::ApiRequest& request) { return open_api_.answer(request); });
  apiserver::register_reviews(*server_, {.authenticator = *authenticator_,
                                         .tokens = tokens_,
                                         .authorizer = *rbac_,
                                         .rbac = rbac_.get(),
                                         .clock = loop.clock(),
                                         .random = random_.fork("reviews")});
  if (options_.lab) make_lab(is_new);
  // What is published is what a request sees.
  store_->when_published(store_->tip(), scope_.done<Ok>(kNoLimit, std::move(ready)));
}

void ApiSide::make_lab(bool is_new) {
  lab::LabOptions options = *options_.lab;
  if (options_.nodes_once && !is_new) options.nodes = 0;
  lab_ = std::make_unique<lab::Lab>(
      scope_,
      lab::LabParts{.store = *store_, .api = *server_, .random = random_.fork("lab"), .log = log_},
      std::move(options));
  lab::attach(scope_, *server_, *lab_, options_.usage,
              {.when_idle = options_.when_idle, .changes = [this] { return changes_; }});
}

void ApiSide::reached_at(const std::string& address, std::uint16_t port) {
  Random uids = random_.fork("own service");
  apiserver::write_own_service(*store_, address, port, scope_.executor().clock().wall(),
                               [&uids] { return kube::random_uid(uids); });
}

void ApiSide::start_lab() {
  if (!lab_) return;
  lab_->start(scope_.done<Ok>(kNoLimit, [this](const Result<Ok>& started) {
    if (!started) log_.error("simulated nodes could not be made", {{"error", started.error()}});
  }));
}

}  // namespace berth::cluster
