// SPDX-License-Identifier: Apache-2.0
// Every move in the queue has a cause and can be watched: by metrics, by the log, by tests.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "scheduler/framework/status.h"
#include "scheduler/metrics/scheduler_metrics.h"
#include "scheduler/queue/queued_pod.h"

namespace berth::scheduler {

// Called on the queue's loop, in the midst of a change: must not call the queue back. Labels live
// only as long as the call.
class QueueObserver {
 public:
  virtual ~QueueObserver() = default;

  // `event` is the cause, as in scheduler_queue_incoming_pods_total; besides those, "Pop",
  // "PopFromBackoffQ", "PodDelete" and "Duplicate" (popped while in flight already, and dropped).
  virtual void moved(const QueuedPod&, Place /*from*/, Place /*to*/, std::string_view /*event*/) {}
  virtual void pending(QueueName, int /*delta*/) {}                // exact at any time
  virtual void incoming(QueueName, std::string_view /*event*/) {}  // a counter
  // scheduler_unschedulable_pods.
  // k8s 1.36: a pod deleted from activeQ or backoffQ is not taken off.
  virtual void unschedulable(PluginId, std::string_view /*profile*/, int /*delta*/) {}
  // scheduler_inflight_events; "PodPopped" counts the pods themselves.
  virtual void in_flight_events(std::string_view /*event*/, int /*delta*/) {}
  // Once a hint that ran; it may have spoken for many pods.
  virtual void hint_ran(PluginId, std::string_view /*profile*/, std::string_view /*event*/,
                        HintResult, Duration) {}
  virtual void pre_enqueue_ran(PluginId, std::string_view /*profile*/, Code, Duration) {}
  // The extension point as a whole. k8s 1.36: its status is always reported as Success.
  virtual void pre_enqueue_done(std::string_view /*profile*/, Duration) {}

  static QueueObserver& none();
};

// Writes moves and hints to a log, at debug level.
class LoggingObserver final : public QueueObserver {
 public:
  using PluginName = std::function<std::string_view(PluginId)>;
  LoggingObserver(Logger log, PluginName plugin_name)
      : log_(std::move(log)), plugin_name_(std::move(plugin_name)) {}
  void moved(const QueuedPod&, Place from, Place to, std::string_view event) override;
  void hint_ran(PluginId, std::string_view profile, std::string_view event, HintResult,
                Duration) override;

 private:
  Logger log_;
  PluginName plugin_name_;
};

}  // namespace berth::scheduler
