// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/scheduler.h"

#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {

Diagnosis one_node_diagnosis(const Status& status, ReasonTable& reasons) {
  Diagnosis diagnosis;
  diagnosis.nodes = 1;
  diagnosis.by_row = {reasons.id(status.plugin, status.code, status.reasons)};
  diagnosis.table = &reasons;
  (status.code == Code::kPending ? diagnosis.pending : diagnosis.unschedulable)
      .insert(status.plugin);
  return diagnosis;
}

Scheduler::Scheduler(SchedulerParts parts, const SchedulerConfig& config, Registry registry)
    : parts_(std::move(parts)),
      clock_(parts_.scope.executor().clock()),
      registry_(registry),
      features_(config.features) {
  for (const Registration& plugin : registry_) plugin_names_.push_back(plugin.info.name);
  plugin_names_.push_back("Extender");
  const auto named = [this](PluginId id) { return plugin_name(id); };
  waiting_ = std::make_unique<WaitingPods>(parts_.scope, named);
  queue_metrics_ =
      std::make_unique<QueueMetrics>(parts_.metrics, parts_.log, named, parts_.observer);

  if (parts_.slots != nullptr)
    holds_ = std::make_unique<SlotHolds>(
        parts_.scope, cluster_, *parts_.slots, [this](const PodPtr& hold) {
          cache_changed();
          queue_->move_all(
              {.event = {EventResource::kAssignedPod, action::kDelete}, .pod_before = hold});
        });

  if (parts_.scavengers != nullptr)
    scavengers_ = std::make_unique<ScavengerDoor>(ScavengerDoor::Parts{
        .scope = parts_.scope,
        .api = parts_.api,
        .log = parts_.log,
        .board = *parts_.scavengers,
        .wanted =
            [this](const Pod& pod) {
              const PodPtr now = pending_pod(pod.ns, pod.name);
              return now && now->uid == pod.uid && !now->deleting && !cluster_.assumed(pod.uid);
            },
        .again =
            [this](const PodPtr& pod) {
              if (const PodPtr now = pending_pod(pod->ns, pod->name)) activate({now});
            },
        .reporter = config.profiles.front().spec.scheduler_name,
        .instance = config.profiles.front().spec.scheduler_name + "-" + parts_.instance,
        .metrics = parts_.ours});

  QueueSetup setup;
  for (const ProfileConfig& profile_config : config.profiles) {
    profiles_.push_back(std::unique_ptr<ProfileState>(
        new ProfileState{Profile(profile_config.spec, registry_, reasons_, this), nullptr,
                         parts_.metrics.profile(profile_config.spec.scheduler_name)}));
    setup.profiles.push_back(queue_profile(profiles_.back()->profile));
  }
  setup.options.initial_backoff = std::chrono::seconds(config.pod_initial_backoff_seconds);
  setup.options.max_backoff = std::chrono::seconds(config.pod_max_backoff_seconds);
  setup.options.max_in_unschedulable = config.pod_max_in_unschedulable_pods;
  setup.sort = &profiles_.front()->profile.queue_sort();
  setup.cluster = &cluster_;
  setup.observer = queue_metrics_.get();
  setup.known_pod = [this](std::string_view ns, std::string_view name) {
    return pending_pod(ns, name);
  };
  setup.on_ready = [this] { wake(); };
  if (!parts_.extenders.empty()) setup.extender = extenders();
  queue_ = std::make_unique<SchedulingQueue>(parts_.scope.executor().clock(), std::move(setup));
  for (const auto& profile : profiles_) {
    profile->decider =
        std::make_unique<Decider>(profile->profile, cluster_, reasons_, &queue_->nominator(),
                                  search_start_, decider_spec(config));
    profile->decisions =
        std::make_unique<DecisionMetrics>(parts_.metrics, profile->profile, clock_);
  }
}

DeciderSpec Scheduler::decider_spec(const SchedulerConfig& config) {
  DeciderSpec spec;
  spec.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score.value_or(100);
  for (const Extender* extender : parts_.extenders) {
    spec.extenders_filter |= extender->filters();
    spec.extenders_prioritize |= extender->prioritizes();
  }
  spec.mode = parts_.mode;
  spec.verify_every = parts_.verify_decisions;
  spec.clock = &clock_;
  spec.on_fallback = [this](std::string_view why) { parts_.metrics.shape_fallback(why); };
  spec.on_build = [this] { parts_.metrics.shape_builds.add(); };
  spec.on_mismatch = [this](const Pod& pod, std::string_view what) {
    parts_.metrics.decision_mismatch.add();
    parts_.log.error("a cached decision was wrong; the plain one counts",
                     {{"pod", pod.text()}, {"cached", what}});
    if (parts_.mismatch) parts_.mismatch(pod);
  };
  return spec;
}

Scheduler::~Scheduler() = default;

std::string_view Scheduler::plugin_name(PluginId id) const {
  const auto at = static_cast<std::size_t>(id);
  return at < plugin_names_.size() ? plugin_names_[at] : std::string_view();
}

void Scheduler::start() {
  running_ = true;
  if (parts_.observer != nullptr) parts_.observer->began(*this, parts_.scope);
  queue_->run(parts_.scope);
  tell_metrics();
  cache_changed();
  wake();
}

void Scheduler::tell_metrics() {
  for (const auto& profile : profiles_) profile->decisions->tell();
  parts_.scope.after(
      1s, [this] { tell_metrics(); }, Timer::kBackground);
}

// Once a turn, however much changed in it.
void Scheduler::cache_changed() {
  if (telling_size_ || !running_) return;
  telling_size_ = true;
  parts_.scope.post([this] {
    telling_size_ = false;
    parts_.metrics.cache_size(cluster_.size(), static_cast<double>(cluster_.pod_count()),
                              static_cast<double>(cluster_.assumed_count()));
  });
}

void Scheduler::stage_ended(Placement& placement, Stage stage, Code code) {
  placement.profile->metrics.stage(stage, code, now() - placement.stage_start);
}

void Scheduler::plugin_ran(const Placement& placement, const Plugin& plugin, Stage stage, Code code,
                           Instant since) {
  if (placement.sampled)
    parts_.metrics.plugin(placement.profile->profile.name(), plugin.name())
        .ran(stage, code, now() - since);
}

void Scheduler::stop(Task done) {
  running_ = false;
  queue_->close();
  waiting_->reject_all("scheduler stopping");
  if (binding_.empty())
    parts_.scope.post(std::move(done));
  else
    stopped_ = std::move(done);
}

std::optional<Duration> Scheduler::under_way(std::string_view uid) const {
  const auto found = binding_.find(uid);
  if (found == binding_.end()) return std::nullopt;
  return now() - found->second->start;
}

const NominatedPods& Scheduler::nominated() const { return queue_->nominator(); }

PodPtr Scheduler::pending_pod(std::string_view ns, std::string_view name) const {
  std::string key(ns);
  key += '/';
  key += name;
  const auto found = pending_.find(key);
  return found == pending_.end() ? nullptr : found->second;
}

void Scheduler::clear_nomination(const Pod& pod) {
  queue_->nominator().remove(pod);
  if (const PodPtr known = pending_pod(pod.ns, pod.name); known && known->uid == pod.uid)
    patch_status(*known, nullptr, std::string());
}

void Scheduler::event(const Pod& regarding, bool warning, std::string reason, std::string action,
                      std::string note, const Pod* related) {
  // k8s 1.36: events carry the name of the profile that caused them.
  const Pod& causes = related != nullptr ? *related : regarding;
  parts_.events.event(causes.spec->scheduler_name, regarding, warning, std::move(reason),
                      std::move(action), std::move(note), related);
}

}  // namespace berth::scheduler
