// SPDX-License-Identifier: Apache-2.0
// `berth scheduler` without its command line: watches a cluster, waits for the lease, schedules,
// and leaves in good order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "client/leader_election.h"
#include "client/rate_limiter.h"
#include "client/transport.h"
#include "runtime/scavenge/scavenger_feeds.h"
#include "runtime/slots/slot_feeds.h"
#include "scheduler/config/config.h"
#include "scheduler/metrics/scheduler_metrics.h"
#include "scheduler/run/feeds.h"
#include "scheduler/run/scheduler.h"

namespace berth::scheduler {

struct AppOptions {
  SchedulerConfig config;
  std::string identity;  // unique; names the holder of the lease and the reporting instance
  DecideMode mode = DecideMode::kCached;
  // Every so many cached decisions one is made again on the plain path, whose answer counts. 0:
  // never; 1, for tests: the process ends on a difference.
  std::uint64_t verify_decisions = 0;
  // Gets the state in which the two differed, as a case (case_file.h). Where it is set, whole pods
  // and nodes are kept in memory.
  std::function<void(const std::string& pod, std::string case_text)> mismatch = nullptr;
  // How extenders are reached: over HTTP, unless the world is virtual.
  std::function<Result<std::unique_ptr<Extender>>(Scope&, const ExtenderConfig&)> extender =
      nullptr;
  SchedulerObserver* observer = nullptr;  // outlives the scheduler; null: nobody looks
  // Scavenger jobs go by the work they lose. Off: by kube-scheduler's order, as all others.
  bool scavengers = true;
};

// Loop-confined to its scope's executor; outlives that scope. Closing the scope stops trying pods,
// lets binds under way end, and releases the lease last.
class App final : private EventSink {
 public:
  // `transport` and `metrics` outlive it. `failed` is called when it cannot go on: the lease was
  // lost.
  App(Scope& scope, client::Transport& transport, Metrics& metrics, Logger log, Random random,
      Registry registry, AppOptions options, std::function<void(Error)> failed);
  ~App() override;

  void start();
  // Holds what is known here against what the API server says and logs every difference that lasts:
  // what is only on its way is gone a moment later.
  void compare(std::function<void(const std::vector<std::string>&)> found = nullptr);
  bool synced() const { return feeds_.synced(); }
  const std::vector<std::string>& unsynced() const { return feeds_.unsynced(); }
  bool leads() const { return !election_ || election_->leads(); }
  // It leads as far as it knows, and by the clock it does not any more.
  bool overdue() const { return election_ && scheduler_ && !election_->leads(); }
  const SchedulerConfig& config() const { return options_.config; }
  bool scheduling() const { return scheduler_ != nullptr; }
  const Scheduler* scheduler() const { return scheduler_.get(); }

 private:
  void lead(Scope& term);
  void schedule();  // once everything is known
  void tell_mismatch(const Pod&);
  using Lines = std::vector<std::string>;
  void list_differences(Done<Lines>);
  void report(Result<Lines>, const std::function<void(const Lines&)>& found);
  void event(const std::string& profile, const Pod& regarding, bool warning, std::string reason,
             std::string action, std::string note, const Pod* related) override;

  Scope& scope_;
  client::Transport& transport_;
  Metrics& metrics_;
  Logger log_;
  Random random_;
  Registry registry_;
  AppOptions options_;
  std::function<void(Error)> failed_;
  SchedulerMetrics scheduler_metrics_;
  Feeds feeds_;
  std::unique_ptr<runtime::SlotFeeds> slots_;  // null: no profile asks for slots
  runtime::ScavengerFeeds scavengers_;
  std::unique_ptr<client::LeaderElection> election_;
  std::unique_ptr<client::RateLimiter> limiter_;
  std::unique_ptr<client::Api> api_;
  std::vector<std::unique_ptr<Extender>> extenders_;
  StringMap<std::unique_ptr<client::EventRecorder>> recorders_;  // by profile
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace berth::scheduler
