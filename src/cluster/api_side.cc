// SPDX-License-Identifier: Apache-2.0
#include "cluster/api_side.h"

#include <fmt/format.h>

#include "apiserver/admission/steps.h"
#include "apiserver/store/sqlite_journal.h"
#include "cluster/first_objects.h"

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

std::unique_ptr<apiserver::Journal> journal_of(Runtime& runtime, const ClusterOptions& options) {
  if (!options.data_dir) return nullptr;
  return std::make_unique<apiserver::SqliteJournal>(
      runtime.loop("disk"), runtime.loop("checkpoints"),
      apiserver::SqliteOptions{.folder = *options.data_dir / "store", .fsync = options.fsync});
}

// Writes that every start begins with; what is there already stays.
class FirstWrites {
 public:
  FirstWrites(Scope& scope, kube::ApiHandler& api, std::vector<std::string> manifests,
              std::function<void(Result<Ok>)> done)
      : scope_(scope), api_(api), manifests_(std::move(manifests)), done_(std::move(done)) {}

  static void run(std::shared_ptr<FirstWrites> self) {
    if (self->at_ == self->manifests_.size()) return self->done_(Ok{});
    const std::string& text = self->manifests_[self->at_++];
    const Result<kube::Object> object = kube::Object::parse(text);
    BERTH_CHECK(object.has_value(), text);
    kube::ApiRequest request{.verb = kube::Verb::kCreate,
                             .kind = object->kind(),
                             .ns = std::string(object->ns()),
                             .body = {.bytes = std::make_shared<const std::string>(text)},
                             .user = {.name = "system:apiserver", .groups = {"system:masters"}}};
    self->api_.handle(std::move(request),
                      self->scope_.done<kube::ApiReply>(30s, [self](Result<kube::ApiReply> reply) {
                        if (!reply && reply.error().reason != Reason::kAlreadyExists)
                          return self->done_(tl::unexpected(reply.error()));
                        run(self);
                      }));
  }

 private:
  Scope& scope_;
  kube::ApiHandler& api_;
  std::vector<std::string> manifests_;
  std::size_t at_ = 0;
  std::function<void(Result<Ok>)> done_;
};

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
          scope, apiserver::StoreOptions{.indexes = indexes(), .observe = options.observe},
          journal_.get())),
      tokens_(options.token_key) {}

ApiSide::~ApiSide() = default;

void ApiSide::start(std::function<void(Result<Ok>)> ready) {
  if (journal_ != nullptr) {
    const auto lost = store_->recover(options_.salvage ? apiserver::Recovery::kSalvage
                                                       : apiserver::Recovery::kWhole);
    if (!lost) return ready(tl::unexpected(lost.error()));
    for (const apiserver::Damage& damage : *lost) log_.error("lost", {{"what", damage.text()}});
  }
  rbac_ = std::make_unique<apiserver::Rbac>(*store_);
  authenticator_ = std::make_unique<apiserver::TokenAuthenticator>(
      *store_, tokens_, *rbac_, apiserver::AuthenticatorOptions{});
  admission_.steps = apiserver::default_steps(*store_, *rbac_, random_.fork("admission"));
  server_ = std::make_unique<apiserver::Server>(
      scope_, apiserver::ServerParts{.store = *store_,
                                     .kinds = kinds_,
                                     .admission = admission_,
                                     .authenticator = *authenticator_,
                                     .authorizer = *rbac_,
                                     .metrics = metrics_,
                                     .log = log_,
                                     .random = random_.fork("server")});
  FirstWrites::run(
      std::make_shared<FirstWrites>(scope_, *server_, first_objects(options_), std::move(ready)));
}

void ApiSide::start_lab() {
  if (!options_.lab) return;
  lab_ = std::make_unique<lab::Lab>(
      scope_,
      lab::LabParts{.store = *store_, .api = *server_, .random = random_.fork("lab"), .log = log_},
      *options_.lab);
  lab_->start(scope_.done<Ok>(kNoLimit, [this](const Result<Ok>& started) {
    if (!started) log_.error("simulated nodes could not be made", {{"error", started.error()}});
  }));
}

}  // namespace berth::cluster
