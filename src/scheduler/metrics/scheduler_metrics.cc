// SPDX-License-Identifier: Apache-2.0
#include "scheduler/metrics/scheduler_metrics.h"

#include "base/check.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kStageNames[kStages] = {"PreEnqueue",
                                                   "PreFilter",
                                                   "Filter",
                                                   "PreFilterExtensionAddPod",
                                                   "PreFilterExtensionRemovePod",
                                                   "PostFilter",
                                                   "PreScore",
                                                   "Score",
                                                   "ScoreExtensionNormalize",
                                                   "Reserve",
                                                   "Unreserve",
                                                   "Permit",
                                                   "PreBindPreFlight",
                                                   "PreBind",
                                                   "Bind",
                                                   "PostBind"};
constexpr std::string_view kCodeNames[kCodes] = {
    "Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"};
constexpr std::string_view kQueueNames[] = {"active", "backoff", "unschedulable", "gated"};
constexpr std::string_view kResultNames[] = {"scheduled", "unschedulable", "error"};
constexpr std::string_view kHintNames[] = {"Queue", "QueueSkip", "Error"};
constexpr std::string_view kOperationNames[] = {"binding", "prioritizing_extender", "PreBind"};
constexpr std::string_view kAttemptNames[] = {"1", "2",  "3",  "4",  "5",  "6",  "7",  "8",
                                              "9", "10", "11", "12", "13", "14", "15+"};

template <class Enum>
constexpr std::size_t at(Enum value) {
  return static_cast<std::size_t>(value);
}

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

template <class Metric>
const Metric& first_use(detail::Series<Metric>& series, const Labelled<Metric>& family,
                        std::initializer_list<std::string_view> labels) {
  if (!series) series = family.with(labels);
  return *series;
}

std::vector<double> plugin_buckets() { return exponential_buckets(0.00001, 1.5, 20); }
std::vector<double> attempt_buckets() { return exponential_buckets(0.001, 2, 15); }
std::vector<double> short_buckets() { return exponential_buckets(0.0001, 2, 12); }
std::vector<double> turn_buckets() { return exponential_buckets(0.00001, 2, 16); }

}  // namespace

std::string_view name_of(Stage stage) { return kStageNames[at(stage)]; }

SchedulerMetrics::SchedulerMetrics(Metrics& m, Random random)
    : preemption_attempts(m.counter("scheduler_preemption_attempts_total",
                                    "How often preemption was tried for a pod")),
      scheduled_after_flush(
          m.counter("scheduler_pod_scheduled_after_flush_total",
                    "Pods scheduled after they had left the unschedulable pods by timeout only, "
                    "which hints at an event that should have woken them")),
      bind_unknown(m.counter("berth_bind_unknown_total",
                             "Binds that got no answer, so that the pod had to be read back")),
      bind_lost_race(m.counter("berth_bind_lost_race_total",
                               "Binds of pods that somebody else had bound already")),
      decision_mismatch(
          m.counter("berth_decision_mismatch_total",
                    "Checked decisions where the fast and the plain path chose differently")),
      shape_hits(m.counter("berth_shape_cache_hits_total",
                           "Decisions that found their pod's shape in the cache")),
      shape_builds(m.counter("berth_shape_cache_builds_total", "Shapes that were built")),
      podset_recount(
          m.histogram("berth_podset_recount_seconds",
                      "Time to count the pods of an affinity or spreading selector from scratch",
                      turn_buckets())),
      loop_turn(m.histogram("berth_scheduler_loop_turn_seconds",
                            "Time of one turn of the scheduler's loop", turn_buckets())),
      loop_lag(m.histogram("berth_scheduler_loop_lag_seconds",
                           "Time a turn of the scheduler's loop waited for its start",
                           turn_buckets())),
      loop_decisions(m.counter("berth_scheduler_loop_decisions_total",
                               "Decisions made, whatever became of them")),
      attempts_(m.counters("scheduler_schedule_attempts_total",
                           "Attempts to schedule a pod, by result: 'unschedulable' when no node "
                           "would have it, 'error' when something went wrong",
                           {"result", "profile"})),
      attempt_durations_(
          m.histograms("scheduler_scheduling_attempt_duration_seconds",
                       "Time of an attempt to schedule a pod, from deciding to the end of binding",
                       {"result", "profile"}, attempt_buckets())),
      stages_(m.histograms("scheduler_framework_extension_point_duration_seconds",
                           "Time of all plugins of an extension point together",
                           {"extension_point", "status", "profile"}, short_buckets())),
      runs_(m.histograms("scheduler_plugin_execution_duration_seconds",
                         "Time of one plugin at an extension point, measured in a sample of cycles",
                         {"plugin", "extension_point", "status"}, plugin_buckets())),
      hints_(m.histograms("scheduler_queueing_hint_execution_duration_seconds",
                          "Time of a plugin's queueing hint", {"plugin", "event", "hint"},
                          plugin_buckets())),
      handled_(m.histograms("scheduler_event_handling_duration_seconds",
                            "Time to take in an event of the cluster", {"event"}, short_buckets())),
      evaluations_(m.counters("scheduler_plugin_evaluation_total",
                              "Pods that a plugin looked at in PreFilter, Filter, PreScore, Score",
                              {"plugin", "extension_point", "profile"})),
      incoming_(m.counters("scheduler_queue_incoming_pods_total",
                           "Pods that entered a queue, by queue and by the event that caused it",
                           {"queue", "event"})),
      unschedulable_(m.gauges("scheduler_unschedulable_pods",
                              "Unschedulable pods by the plugin that refused them; a pod counts "
                              "for each of its plugins, so sums over plugins have no meaning",
                              {"plugin", "profile"})),
      in_flight_(m.gauges("scheduler_inflight_events",
                          "Events that the queue remembers for pods being scheduled", {"event"})),
      pending_(m.gauges("scheduler_pending_pods",
                        "Pods that wait, by queue: 'active' is ready to be tried, 'backoff' rests "
                        "after a failure, 'unschedulable' waits for an event, 'gated' was never "
                        "tried because of a gate",
                        {"queue"})),
      under_way_(m.gauges("scheduler_goroutines",
                          "Operations under way, by kind (Berth has no goroutines; the name is "
                          "kube-scheduler's)",
                          {"operation"})),
      cache_size_(m.gauges("scheduler_cache_size",
                           "Nodes, pods and assumed pods that the scheduler knows", {"type"})),
      permit_(m.histograms("scheduler_permit_wait_duration_seconds",
                           "Time that pods waited for permission to bind", {"result"},
                           attempt_buckets())),
      sli_(m.histograms("scheduler_pod_scheduling_sli_duration_seconds",
                        "Time from a pod's first attempt until it was scheduled, over all attempts",
                        {"attempts"}, exponential_buckets(0.01, 2, 20))),
      evictions_(m.histograms("scheduler_preemption_goroutines_duration_seconds",
                              "Time to delete the victims of a preemption", {"result"},
                              exponential_buckets(0.01, 2, 20))),
      eviction_counts_(m.counters("scheduler_preemption_goroutines_execution_total",
                                  "Preemptions whose victims were deleted, or could not be",
                                  {"result"})),
      fallbacks_(m.counters("berth_shape_cache_fallbacks_total",
                            "Decisions that took the plain path, by reason", {"reason"})),
      volume_errors_(m.counters("scheduler_volume_scheduling_stage_error_total",
                                "Failures while volumes were matched, assumed or bound",
                                {"operation"})),
      extender_calls_(m.histograms("berth_extender_request_duration_seconds",
                                   "Time of a call to an extender, waiting for its turn included",
                                   {"extender", "verb", "result"}, attempt_buckets())),
      algorithm_(m.histogram("scheduler_scheduling_algorithm_duration_seconds",
                             "Time to find a node for a pod", attempt_buckets())),
      attempts_needed_(m.histogram("scheduler_pod_scheduling_attempts",
                                   "Attempts it took to schedule a pod",
                                   exponential_buckets(1, 2, 5))),
      victims_(m.histogram("scheduler_preemption_victims", "Victims chosen by a preemption",
                           exponential_buckets(1, 2, 7))),
      random_(random) {}

ProfileMetrics& SchedulerMetrics::profile(std::string_view name) {
  auto found = profiles_.find(name);
  if (found == profiles_.end()) {
    std::unique_ptr<ProfileMetrics> made(new ProfileMetrics(*this, std::string(name)));
    found = profiles_.emplace(name, std::move(made)).first;
  }
  return *found->second;
}

PluginMetrics& SchedulerMetrics::plugin(std::string_view profile, std::string_view name) {
  std::unique_ptr<PluginMetrics>& entry = plugins_[{std::string(profile), std::string(name)}];
  if (!entry) entry.reset(new PluginMetrics(*this, std::string(profile), std::string(name)));
  return *entry;
}

EventMetrics& SchedulerMetrics::event(std::string_view label) {
  auto found = events_.find(label);
  if (found == events_.end()) {
    std::unique_ptr<EventMetrics> made(new EventMetrics(*this, std::string(label)));
    found = events_.emplace(label, std::move(made)).first;
  }
  return *found->second;
}

bool SchedulerMetrics::sample() { return random_.below(100) < kSamplePercent; }

void SchedulerMetrics::pending(QueueName queue, double count) {
  first_use(pending_series_[at(queue)], pending_, {kQueueNames[at(queue)]}).set(count);
}

void SchedulerMetrics::under_way(Operation operation, double by) {
  first_use(under_way_series_[at(operation)], under_way_, {kOperationNames[at(operation)]}).add(by);
}

void SchedulerMetrics::cache_size(double nodes, double pods, double assumed) {
  first_use(cache_size_series_[0], cache_size_, {"nodes"}).set(nodes);
  first_use(cache_size_series_[1], cache_size_, {"pods"}).set(pods);
  first_use(cache_size_series_[2], cache_size_, {"assumed_pods"}).set(assumed);
}

void SchedulerMetrics::permit_waited(Code code, Duration waited) {
  first_use(permit_series_[at(code)], permit_, {kCodeNames[at(code)]}).observe(seconds(waited));
}

void SchedulerMetrics::algorithm(Duration took) { algorithm_.observe(seconds(took)); }

void SchedulerMetrics::scheduled(int attempts, Duration since_first_attempt) {
  BERTH_CHECK(attempts >= 1, "a pod is scheduled by an attempt");
  attempts_needed_.observe(attempts);
  const std::size_t i = std::min<std::size_t>(static_cast<std::size_t>(attempts), 15) - 1;
  first_use(sli_series_[i], sli_, {kAttemptNames[i]}).observe(seconds(since_first_attempt));
}

void SchedulerMetrics::preempted(std::size_t victims) {
  victims_.observe(static_cast<double>(victims));
}

void SchedulerMetrics::evicted(bool ok, Duration took) {
  const std::string_view result = ok ? "success" : "error";
  evictions_.with({result}).observe(seconds(took));
  eviction_counts_.with({result}).add();
}

void SchedulerMetrics::shape_fallback(std::string_view reason) {
  auto found = fallback_series_.find(reason);
  if (found == fallback_series_.end())
    found = fallback_series_.emplace(reason, fallbacks_.with({reason})).first;
  found->second.add();
}

void SchedulerMetrics::extender_call(std::string_view extender, std::string_view verb, bool ok,
                                     Duration took) {
  extender_calls_.with({extender, verb, ok ? "success" : "error"}).observe(seconds(took));
}

void SchedulerMetrics::volume_stage_error(std::string_view operation) {
  volume_errors_.with({operation}).add();
}

void ProfileMetrics::attempt(AttemptResult result, Duration took) {
  const std::string_view name = kResultNames[at(result)];
  first_use(attempts_[at(result)], all_.attempts_, {name, name_}).add();
  first_use(durations_[at(result)], all_.attempt_durations_, {name, name_}).observe(seconds(took));
}

void ProfileMetrics::stage(Stage stage, Code code, Duration took) {
  first_use(stages_[at(stage)][at(code)], all_.stages_,
            {kStageNames[at(stage)], kCodeNames[at(code)], name_})
      .observe(seconds(took));
}

void PluginMetrics::evaluated(Stage stage, std::uint64_t times) {
  first_use(evaluations_[at(stage)], all_.evaluations_, {name_, kStageNames[at(stage)], profile_})
      .add(static_cast<double>(times));
}

void PluginMetrics::ran(Stage stage, Code code, Duration took) {
  first_use(runs_[at(stage)][at(code)], all_.runs_,
            {name_, kStageNames[at(stage)], kCodeNames[at(code)]})
      .observe(seconds(took));
}

void PluginMetrics::unschedulable(int by) {
  first_use(unschedulable_, all_.unschedulable_, {name_, profile_}).add(by);
}

void PluginMetrics::hint(std::string_view event, HintResult result, Duration took) {
  auto found = hints_.find(event);
  if (found == hints_.end()) found = hints_.emplace(event, decltype(hints_)::mapped_type{}).first;
  first_use(found->second[at(result)], all_.hints_, {name_, event, kHintNames[at(result)]})
      .observe(seconds(took));
}

void EventMetrics::incoming(QueueName queue) {
  BERTH_CHECK(queue != QueueName::kGated, "gated pods enter the unschedulable ones");
  first_use(incoming_[at(queue)], all_.incoming_, {kQueueNames[at(queue)], label_}).add();
}

void EventMetrics::in_flight(double by) {
  first_use(in_flight_, all_.in_flight_, {label_}).add(by);
}

void EventMetrics::handled(Duration took) {
  first_use(handled_, all_.handled_, {label_}).observe(seconds(took));
}

}  // namespace berth::scheduler
