// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/app.h"

#include <algorithm>

#include "scheduler/run/case_file.h"
#include "scheduler/run/compare.h"

namespace berth::scheduler {
namespace {

KeptDocuments wanted_by(const AppOptions& options) {
  KeptDocuments kept;
  kept.pods = kept.nodes = options.mismatch && options.verify_decisions != 0;
  for (const ExtenderConfig& extender : options.config.extenders) {
    kept.pods = true;
    kept.nodes |= !extender.node_cache_capable;
  }
  return kept;
}

bool has_slots(const AppOptions& options, Registry registry) {
  for (const ProfileConfig& profile : options.config.profiles)
    for (const ProfileSpec::Entry& entry : profile.spec.at(Point::kReserve))
      if (registry[static_cast<std::size_t>(entry.plugin)].info.name == "Slots") return true;
  return false;
}

}  // namespace

App::App(Scope& scope, client::Transport& transport, Metrics& metrics, Logger log, Random random,
         Registry registry, AppOptions options, std::function<void(Error)> failed)
    : scope_(scope),
      transport_(transport),
      metrics_(metrics),
      log_(std::move(log)),
      random_(random),
      registry_(registry),
      options_(std::move(options)),
      failed_(std::move(failed)),
      scheduler_metrics_(metrics, random_.fork("metrics")),
      feeds_(scope_, transport_, random_.fork("feeds"), log_, wanted_by(options_)),
      scavengers_(scope_, transport_, random_.fork("scavengers")) {
  if (has_slots(options_, registry_))
    slots_ = std::make_unique<runtime::SlotFeeds>(scope_, transport_, random_.fork("slots"));
}

App::~App() = default;

void App::start() {
  const LeaderElectionConfig& election = options_.config.leader_election;
  log_.info("waiting for the cluster's objects");
  // Nobody but pods of Testbeds waits for slots, and nobody at all for scavengers: a cluster need
  // not have such kinds.
  if (slots_) slots_->start();
  if (options_.scavengers) scavengers_.start();
  if (!election.leader_elect) {
    feeds_.start([this] { lead(scope_.child("scheduling")); });
    return;
  }
  client::LeaderElectionOptions lease;
  lease.settings = {options_.identity, election.lease_duration, election.renew_deadline,
                    election.retry_period};
  lease.ns = election.resource_namespace;
  lease.name = election.resource_name;
  lease.metrics = &metrics_;
  election_ = std::make_unique<client::LeaderElection>(
      scope_, transport_, random_.fork("election"), std::move(lease),
      client::LeaderCallbacks{
          .on_started = [this](Scope& term) { lead(term); },
          .on_stopped =
              [this] {
                // Another one leads by now; nothing here may go on.
                if (!scope_.closing())
                  failed_({Reason::kConflict, "the lease was lost; another scheduler leads"});
              },
          .on_new_leader =
              [this](const std::string& holder) {
                log_.info(holder == options_.identity ? "leading" : "waiting; another one leads",
                          {{"holder", holder}});
              }});
  const auto campaign = [this] { election_->start(); };
  if (options_.config.delay_cache_until_active)
    campaign();
  else
    feeds_.start(campaign);
}

void App::lead(Scope& term) {
  client::Transport& transport = election_ ? election_->term_transport() : transport_;
  const ClientConnectionConfig& client = options_.config.client_connection;
  if (client.qps > 0)
    limiter_ = std::make_unique<client::RateLimiter>(
        term, client::RateLimit{.qps = client.qps, .burst = std::max(client.burst, 1)});
  api_ = std::make_unique<client::Api>(term, transport, random_.fork("api"), limiter_.get());
  // What ends last is told too: the scheduler's scope is inside those of the recorders.
  Scope* inner = &term;
  for (const ProfileConfig& profile : options_.config.profiles) {
    auto& recorder = recorders_[profile.spec.scheduler_name];
    recorder = std::make_unique<client::EventRecorder>(
        *inner, *api_, random_.fork("events " + profile.spec.scheduler_name),
        client::EventRecorderOptions{
            .controller = profile.spec.scheduler_name,
            .instance = profile.spec.scheduler_name + "-" + options_.identity,
            .metrics = &metrics_});
    inner = &recorder->scope();
  }
  Scope& scheduling = inner->child("scheduling");
  std::vector<Extender*> extenders;
  for (const ExtenderConfig* config : calling_order(options_.config)) {
    Result<std::unique_ptr<Extender>> made =
        options_.extender ? options_.extender(term, *config) : make_extender(term, *config);
    if (!made) return failed_(made.error());
    extenders.push_back(extenders_.emplace_back(std::move(*made)).get());
  }
  SchedulerParts parts{.scope = scheduling,
                       .api = *api_,
                       .events = *this,
                       .metrics = scheduler_metrics_,
                       .log = log_,
                       .random = random_.fork("scheduler"),
                       .extenders = std::move(extenders),
                       .mode = options_.mode,
                       .verify_decisions = options_.verify_decisions};
  parts.observer = options_.observer;
  if (slots_) parts.slots = &slots_->board();
  if (options_.scavengers) parts.scavengers = &scavengers_.board();
  parts.ours = &metrics_;
  parts.instance = options_.identity;
  if (options_.mismatch) parts.mismatch = [this](const Pod& pod) { tell_mismatch(pod); };
  scheduler_ = std::make_unique<Scheduler>(std::move(parts), options_.config, registry_);
  scheduling.on_close([this] { scheduler_->stop([] {}); });
  if (feeds_.synced())
    schedule();
  else
    feeds_.start([this] { schedule(); });  // delayCacheUntilActive
}

void App::schedule() {
  feeds_.attach(*scheduler_, [this] {
    log_.info("scheduling", {{"nodes", scheduler_->cluster().node_ids()},
                             {"pods", scheduler_->cluster().pod_count()}});
    scheduler_->start();
  });
}

void App::tell_mismatch(const Pod& pod) {
  options_.mismatch(pod.text(), case_text("mismatch " + pod.text(), pod, scheduler_->cluster(),
                                          scheduler_->nominated(), feeds_));
}

// Feeds lag behind a list, by a moment when all is well.
constexpr Duration kMoment = 3s;

void App::compare(std::function<void(const Lines&)> found) {
  if (!scheduler_ || scope_.closing()) {
    log_.info("nothing to compare: this scheduler does not lead");
    return;
  }
  list_differences(scope_.done<Lines>(2min, [this, found](Result<Lines> first) {
    if (!first || first->empty()) return report(std::move(first), found);
    scope_.after(kMoment, [this, found, first = std::move(*first)] {
      list_differences(scope_.done<Lines>(2min, [this, found, first](Result<Lines> second) {
        if (second)
          std::erase_if(*second, [&](const std::string& line) {
            return !std::binary_search(first.begin(), first.end(), line);
          });
        report(std::move(second), found);
      }));
    });
  }));
}

void App::list_differences(Done<Lines> done) {
  api_->list_all(kube::kNode, "", {},
                 scope_.done<kube::ObjectList>(
                     60s, [this, done = std::move(done)](Result<kube::ObjectList> nodes) mutable {
                       if (!nodes) return done(tl::unexpected(std::move(nodes.error())));
                       kube::Options options;
                       options.field_selector = kLivePods;
                       api_->list_all(
                           kube::kPod, "", std::move(options),
                           scope_.done<kube::ObjectList>(
                               60s, [this, done = std::move(done), nodes = std::move(nodes->items)](
                                        Result<kube::ObjectList> pods) mutable {
                                 if (!pods) return done(tl::unexpected(std::move(pods.error())));
                                 done(differences(scheduler_->cluster(), nodes, pods->items,
                                                  [this](std::string_view uid) {
                                                    return scheduler_->under_way(uid);
                                                  }));
                               }));
                     }));
}

void App::report(Result<Lines> lines, const std::function<void(const Lines&)>& found) {
  if (!lines) {
    log_.warn("the API server could not be compared with", {{"error", lines.error()}});
    return;
  }
  for (const std::string& line : *lines) log_.warn("the API server disagrees", {{"what", line}});
  log_.info("compared with the API server", {{"differences", lines->size()},
                                             {"pods", scheduler_->cluster().pod_count()},
                                             {"assumed", scheduler_->cluster().assumed_count()},
                                             {"queue", scheduler_->queue().summary()}});
  if (found) found(*lines);
}

void App::event(const std::string& profile, const Pod& regarding, bool warning, std::string reason,
                std::string action, std::string note, const Pod* related) {
  const auto recorder = recorders_.find(profile);
  if (recorder == recorders_.end()) return;
  const auto ref = [](const Pod& pod) {
    return client::ObjectRef{"v1", "Pod", pod.ns, pod.name, pod.uid, std::to_string(pod.revision)};
  };
  const client::ObjectRef about = related != nullptr ? ref(*related) : client::ObjectRef{};
  recorder->second->event(ref(regarding),
                          {warning ? client::EventType::kWarning : client::EventType::kNormal,
                           std::move(reason), std::move(action), std::move(note)},
                          related != nullptr ? &about : nullptr);
}

}  // namespace berth::scheduler
