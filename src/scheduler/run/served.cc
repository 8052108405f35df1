// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/served.h"

#include "scheduler/serving/process_metrics.h"
#include "scheduler/serving/resource_metrics.h"

namespace berth::scheduler {

Served::Served(Scope& scope, client::Transport& cluster, client::Transport* authentication,
               client::Transport* authorization, const App& app, Metrics& metrics,
               const Logger& log, const Random& random, ServedOptions options)
    : scope_(scope),
      app_(app),
      api_(scope, cluster, random.fork("resources")),
      port_(scope, authentication, authorization,
            content(app, metrics, app.config(), std::move(options.version)), log, random,
            std::move(options.port)) {}

ServingContent Served::content(const App& app, Metrics& metrics, const SchedulerConfig& config,
                               std::string version) {
  // Leading by the record and no longer by the clock: this process hangs and should be replaced.
  const HealthCheck watchdog{"leaderElection", [&app]() -> Result<Ok> {
                               if (!app.overdue()) return Ok{};
                               return fail(Reason::kInternalError,
                                           "failed election to renew leadership on lease");
                             }};
  const HealthCheck shutdown{"shutdown", [this]() -> Result<Ok> {
                               if (!scope_.closing()) return Ok{};
                               return fail(Reason::kServiceUnavailable, "process is shutting down");
                             }};
  const HealthCheck synced{"sched-handler-sync", [&app]() -> Result<Ok> {
                             if (app.synced()) return Ok{};
                             std::string missing;
                             for (const std::string& kind : app.unsynced())
                               missing += (missing.empty() ? "" : ", ") + kind;
                             return fail(Reason::kServiceUnavailable,
                                         "waiting for handlers to sync: " + missing);
                           }};
  ServingContent served;
  served.healthz = {watchdog};
  served.readyz = {watchdog, shutdown, synced};
  served.metrics = [&metrics] { return metrics.exposition() + process_metrics(); };
  served.resources = [this](Done<std::string> done) { list_resources(std::move(done)); };
  served.configz = [&config] { return write_config(config); };
  served.version = std::move(version);
  return served;
}

void Served::list_resources(Done<std::string> done) {
  if (!app_.scheduling()) return done(std::string());
  api_.list_all(kube::kPod, "", {},
                scope_.done<kube::ObjectList>(
                    60s, [done = std::move(done)](Result<kube::ObjectList> pods) mutable {
                      if (!pods) return done(tl::unexpected(std::move(pods.error())));
                      ResourceMetrics lines;
                      for (const kube::Object& pod : pods->items)
                        if (Result<Ok> added = lines.add(pod); !added)
                          return done(tl::unexpected(std::move(added.error())));
                      done(lines.take());
                    }));
}

}  // namespace berth::scheduler
