// SPDX-License-Identifier: Apache-2.0
// What the scheduler counts and times: kube-scheduler's families under their names, labels and
// buckets, so that dashboards and alerts keep working, and a few of our own (berth_*).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/random.h"
#include "base/time.h"

namespace berth::scheduler {

enum class Code : std::uint8_t;  // framework/status.h

// Where plugins run, as the label extension_point tells them apart: finer than Point.
enum class Stage : std::uint8_t {
  kPreEnqueue,
  kPreFilter,
  kFilter,
  kAddPod,     // PreFilterExtensionAddPod
  kRemovePod,  // PreFilterExtensionRemovePod
  kPostFilter,
  kPreScore,
  kScore,
  kNormalize,  // ScoreExtensionNormalize
  kReserve,
  kUnreserve,
  kPermit,
  kPreBindPreFlight,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr std::size_t kStages = 16;
inline constexpr std::size_t kCodes = 7;
std::string_view name_of(Stage);

enum class QueueName : std::uint8_t { kActive, kBackoff, kUnschedulable, kGated };
enum class AttemptResult : std::uint8_t { kScheduled, kUnschedulable, kError };
enum class HintResult : std::uint8_t { kQueue, kSkip, kError };
// The operation label of scheduler_goroutines. Here it counts what is under way.
enum class Operation : std::uint8_t { kBinding, kPrioritizingExtender, kPreBind };

namespace detail {
// A series that appears with its first use, as in kube-scheduler; from then on it is a pointer.
template <class Metric>
using Series = std::optional<Metric>;
using StageHistograms = std::array<std::array<Series<Histogram>, kCodes>, kStages>;
}  // namespace detail

class SchedulerMetrics;

// The series of one profile. Loop-confined, as all that hands out series on first use.
class ProfileMetrics {
 public:
  void attempt(AttemptResult, Duration);
  void stage(Stage, Code, Duration);  // all plugins of an extension point together

 private:
  friend class SchedulerMetrics;
  ProfileMetrics(SchedulerMetrics& all, std::string name) : all_(all), name_(std::move(name)) {}
  SchedulerMetrics& all_;
  std::string name_;
  std::array<detail::Series<Counter>, 3> attempts_ = {};
  std::array<detail::Series<Histogram>, 3> durations_ = {};
  detail::StageHistograms stages_ = {};
};

// The series of one plugin in one profile. Loop-confined.
class PluginMetrics {
 public:
  // PreFilter, Filter, PreScore and Score only; once a pod.
  void evaluated(Stage, std::uint64_t times = 1);
  void ran(Stage, Code, Duration);  // where SchedulerMetrics::sample() said so
  void unschedulable(int by);       // pods this plugin holds back: +1, -1
  void hint(std::string_view event, HintResult, Duration);

 private:
  friend class SchedulerMetrics;
  PluginMetrics(SchedulerMetrics& all, std::string profile, std::string name)
      : all_(all), profile_(std::move(profile)), name_(std::move(name)) {}
  SchedulerMetrics& all_;
  std::string profile_, name_;
  std::array<detail::Series<Counter>, kStages> evaluations_ = {};
  detail::Series<Gauge> unschedulable_ = {};
  detail::StageHistograms runs_ = {};
  std::map<std::string, std::array<detail::Series<Histogram>, 3>, std::less<>> hints_;
};

// The series of one kind of event ("NodeAdd", "ScheduleAttemptFailure", "PodPopped").
// Loop-confined.
class EventMetrics {
 public:
  void incoming(QueueName);  // a pod entered that queue because of it; not kGated
  void in_flight(double by);
  void handled(Duration);

 private:
  friend class SchedulerMetrics;
  EventMetrics(SchedulerMetrics& all, std::string label) : all_(all), label_(std::move(label)) {}
  SchedulerMetrics& all_;
  std::string label_;
  std::array<detail::Series<Counter>, 3> incoming_ = {};
  detail::Series<Gauge> in_flight_ = {};
  detail::Series<Histogram> handled_ = {};
};

// One for a process. Whoever counts often asks for a profile, plugin or event once and keeps the
// reference, which stays valid: no label is looked up on the way of a decision. Loop-confined,
// except for the members that are handles themselves, which are thread-safe.
class SchedulerMetrics {
 public:
  static constexpr std::uint64_t kSamplePercent = 10;

  SchedulerMetrics(Metrics&, Random);
  SchedulerMetrics(const SchedulerMetrics&) = delete;
  SchedulerMetrics& operator=(const SchedulerMetrics&) = delete;

  ProfileMetrics& profile(std::string_view name);
  PluginMetrics& plugin(std::string_view profile, std::string_view name);
  EventMetrics& event(std::string_view label);

  bool sample();  // shall this cycle time its plugins one by one?

  void pending(QueueName, double count);
  void under_way(Operation, double by);
  void cache_size(double nodes, double pods, double assumed);
  void permit_waited(Code, Duration);
  void algorithm(Duration);
  // A pod was bound: since its first attempt began, in so many attempts.
  void scheduled(int attempts, Duration since_first_attempt);
  void preempted(std::size_t victims);  // those already terminating included
  void evicted(bool ok, Duration);      // the deletion of a preemption's victims
  void shape_fallback(std::string_view reason);
  void extender_call(std::string_view extender, std::string_view verb, bool ok, Duration);
  void volume_stage_error(std::string_view operation);

  const Counter preemption_attempts;
  const Counter scheduled_after_flush;
  // Ours alone.
  const Counter bind_unknown;       // nobody knows whether the bind happened
  const Counter bind_lost_race;     // somebody else bound the pod
  const Counter decision_mismatch;  // fast and plain path disagreed; always 0 but for a bug
  const Counter shape_hits, shape_builds;
  const Histogram podset_recount;
  const Histogram loop_turn;  // one turn of the scheduler's loop
  const Histogram loop_lag;   // from posting a turn to running it
  const Counter loop_decisions;

 private:
  friend class ProfileMetrics;
  friend class PluginMetrics;
  friend class EventMetrics;

  const Labelled<Counter> attempts_;
  const Labelled<Histogram> attempt_durations_, stages_, runs_, hints_, handled_;
  const Labelled<Counter> evaluations_, incoming_;
  const Labelled<Gauge> unschedulable_, in_flight_;

  const Labelled<Gauge> pending_, under_way_, cache_size_;
  const Labelled<Histogram> permit_, sli_, evictions_;
  const Labelled<Counter> eviction_counts_, fallbacks_;
  const Labelled<Counter> volume_errors_;
  const Labelled<Histogram> extender_calls_;
  const Histogram algorithm_, attempts_needed_, victims_;

  std::array<detail::Series<Gauge>, 4> pending_series_ = {};
  std::array<detail::Series<Gauge>, 3> under_way_series_ = {}, cache_size_series_ = {};
  std::array<detail::Series<Histogram>, kCodes> permit_series_ = {};
  std::array<detail::Series<Histogram>, 15> sli_series_ = {};
  std::map<std::string, Counter, std::less<>> fallback_series_;
  std::map<std::string, std::unique_ptr<ProfileMetrics>, std::less<>> profiles_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<PluginMetrics>> plugins_;
  std::map<std::string, std::unique_ptr<EventMetrics>, std::less<>> events_;
  Random random_;
};

}  // namespace berth::scheduler
