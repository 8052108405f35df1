// SPDX-License-Identifier: Apache-2.0
#include "runtime/home.h"

#include <algorithm>
#include <utility>

#include "json/writer.h"

namespace berth::runtime {

Home::Home(Scope& parent, client::Transport& transport, Metrics& metrics, Logger log, Random random,
           std::vector<std::unique_ptr<Controller>> controllers, HomeOptions options)
    : scope_(parent.child("controllers")),
      transport_(transport),
      metrics_(metrics),
      log_(std::move(log)),
      random_(random),
      controllers_(std::move(controllers)),
      options_(std::move(options)) {}
Home::~Home() = default;

void Home::start() {
  if (!options_.election) return work(scope_, transport_);
  election_ = std::make_unique<client::LeaderElection>(
      scope_, transport_, random_.fork("election"), std::move(*options_.election),
      client::LeaderCallbacks{
          .on_started = [this](Scope& term) { work(term, election_->term_transport()); },
          .on_stopped = [this] { rest(); }});
  election_->start();
}

void Home::work(Scope& term, client::Transport& transport) {
  if (options_.limit) limiter_ = std::make_unique<client::RateLimiter>(term, *options_.limit);
  caches_ = std::make_unique<Caches>(term, transport, random_.fork("caches"), metrics_);
  for (const auto& controller : controllers_) {
    const Spec spec = controller->spec();
    client::Transport& calls = options_.calls_as ? options_.calls_as(spec) : transport;
    runners_.push_back(std::make_unique<Runner>(
        term, *controller, *caches_, calls, metrics_, log_, random_.fork(spec.name()),
        RunnerOptions{.instance = options_.instance,
                      .limiter = limiter_.get(),
                      .ask = options_.ask,
                      .delays = options_.delays,
                      .retry = options_.retry,
                      .outdated = [this](KindId kind) {
                        for (const auto& each : options_.observers) each->outdated(kind);
                      }}));
    caches_->need(spec);
  }
  for (const auto& observer : options_.observers) show(*observer, term.executor().clock());
  caches_->start([this] {
    log_.info("controllers start", {{"count", runners_.size()}});
    for (const auto& runner : runners_) runner->start();
  });
  for (const auto& runner : runners_) runner->attach();
  if (options_.beside) options_.beside(term, transport);
}

void Home::show(Observer& observer, const Clock& clock) {
  observer.begin();
  const std::vector<KindId> kinds = observer.kinds();
  caches_->on_informer([&observer, &clock, kinds](KindId kind, client::Informer<>& informer) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return;
    const auto tell = [&observer, &clock](const Object* before, const Object* after) {
      observer.changed({before, after}, clock.wall());
    };
    informer.add_handler(
        {.added = [tell](const Object& now) { tell(nullptr, &now); },
         .updated = [tell](const Object& before, const Object& now) { tell(&before, &now); },
         .deleted = [tell](const Object& last) { tell(&last, nullptr); }});
  });
}

void Home::rest() {
  runners_.clear();
  caches_.reset();
  limiter_.reset();
}

bool Home::working() const { return caches_ != nullptr && caches_->synced(); }

bool Home::idle() const {
  return working() &&
         std::all_of(runners_.begin(), runners_.end(), [](const auto& r) { return r->idle(); });
}

std::vector<std::string> Home::unsynced() const {
  return caches_ == nullptr ? std::vector<std::string>{} : caches_->unsynced();
}

std::string role_json(std::string_view name,
                      const std::vector<std::unique_ptr<Controller>>& controllers) {
  std::vector<Spec> specs;
  for (const auto& controller : controllers) specs.push_back(controller->spec());
  json::Writer w;
  w.object().member("apiVersion").string("rbac.authorization.k8s.io/v1");
  w.member("kind").string("ClusterRole");
  w.member("metadata").object().member("name").string(name).end();
  w.member("rules").raw(rules_json(specs));
  w.end();
  return w.take();
}

}  // namespace berth::runtime
