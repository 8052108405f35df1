// SPDX-License-Identifier: Apache-2.0
// What the queue tells, as kube-scheduler's metrics and, at debug level, as log lines.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "scheduler/metrics/scheduler_metrics.h"
#include "scheduler/queue/queue_observer.h"

namespace berth::scheduler {

// Loop-confined.
class QueueMetrics final : public QueueObserver {
 public:
  using PluginName = std::function<std::string_view(PluginId)>;
  // `also`, if any, is told moves and counts too.
  QueueMetrics(SchedulerMetrics& metrics, Logger log, PluginName plugin_name,
               QueueObserver* also = nullptr)
      : metrics_(metrics),
        log_(log, plugin_name),
        plugin_name_(std::move(plugin_name)),
        also_(also) {}

  void moved(const QueuedPod& pod, Place from, Place to, std::string_view event) override {
    log_.moved(pod, from, to, event);
    if (also_ != nullptr) also_->moved(pod, from, to, event);
  }
  void pending(QueueName queue, int delta) override {
    double& count = pending_[static_cast<std::size_t>(queue)];
    count += delta;
    metrics_.pending(queue, count);
    if (also_ != nullptr) also_->pending(queue, delta);
  }
  void incoming(QueueName queue, std::string_view event) override {
    metrics_.event(event).incoming(queue);
  }
  void unschedulable(PluginId plugin, std::string_view profile, int delta) override {
    metrics_.plugin(profile, plugin_name_(plugin)).unschedulable(delta);
  }
  void in_flight_events(std::string_view event, int delta) override {
    metrics_.event(event).in_flight(delta);
  }
  void hint_ran(PluginId plugin, std::string_view profile, std::string_view event,
                HintResult result, Duration took) override {
    log_.hint_ran(plugin, profile, event, result, took);
    metrics_.plugin(profile, plugin_name_(plugin)).hint(event, result, took);
  }
  void pre_enqueue_ran(PluginId plugin, std::string_view profile, Code code,
                       Duration took) override {
    if (metrics_.sample())
      metrics_.plugin(profile, plugin_name_(plugin)).ran(Stage::kPreEnqueue, code, took);
  }
  void pre_enqueue_done(std::string_view profile, Duration took) override {
    metrics_.profile(profile).stage(Stage::kPreEnqueue, Code::kSuccess, took);
  }

 private:
  SchedulerMetrics& metrics_;
  LoggingObserver log_;
  PluginName plugin_name_;
  QueueObserver* also_;
  std::array<double, 4> pending_{};
};

}  // namespace berth::scheduler
