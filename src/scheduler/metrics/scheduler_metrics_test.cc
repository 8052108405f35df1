// SPDX-License-Identifier: Apache-2.0
#include "scheduler/metrics/scheduler_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Code kSuccess{0}, kUnresolvable{3};

struct Lab {
  Metrics all;
  SchedulerMetrics metrics{all, Random(7)};
  std::string text() const { return all.exposition(); }
};

TEST(SchedulerMetrics, SeriesAppearWithKubernetesNamesAndLabels) {
  Lab lab;
  SchedulerMetrics& m = lab.metrics;
  m.profile("default-scheduler").attempt(AttemptResult::kScheduled, 3ms);
  m.profile("default-scheduler").stage(Stage::kAddPod, kUnresolvable, 1ms);
  PluginMetrics& fit = m.plugin("default-scheduler", "NodeResourcesFit");
  fit.evaluated(Stage::kFilter);
  fit.ran(Stage::kNormalize, kSuccess, 1us);
  fit.unschedulable(1);
  fit.hint("NodeAdd", HintResult::kSkip, 1us);
  EventMetrics& add = m.event("NodeAdd");
  add.incoming(QueueName::kBackoff);
  add.in_flight(2);
  add.handled(1us);
  m.pending(QueueName::kGated, 4);
  m.under_way(Operation::kBinding, 1);
  m.cache_size(5, 6, 7);
  m.permit_waited(kSuccess, 1s);
  m.evicted(false, 1ms);
  m.shape_fallback("volumes");
  m.extender_call("http://e", "filter", true, 1ms);
  m.volume_stage_error("assume");
  const std::string text = lab.text();
  for (
      const char* line : {
          R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1)",
          R"(scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="scheduled",le="0.004"} 1)",
          R"(scheduler_framework_extension_point_duration_seconds_count{extension_point="PreFilterExtensionAddPod",profile="default-scheduler",status="UnschedulableAndUnresolvable"} 1)",
          R"(scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit",profile="default-scheduler"} 1)",
          R"(scheduler_plugin_execution_duration_seconds_count{extension_point="ScoreExtensionNormalize",plugin="NodeResourcesFit",status="Success"} 1)",
          R"(scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1)",
          R"(scheduler_queueing_hint_execution_duration_seconds_count{event="NodeAdd",hint="QueueSkip",plugin="NodeResourcesFit"} 1)",
          R"(scheduler_queue_incoming_pods_total{event="NodeAdd",queue="backoff"} 1)",
          R"(scheduler_inflight_events{event="NodeAdd"} 2)",
          R"(scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 1)",
          R"(scheduler_pending_pods{queue="gated"} 4)",
          R"(scheduler_goroutines{operation="binding"} 1)",
          R"(scheduler_cache_size{type="assumed_pods"} 7)",
          R"(scheduler_permit_wait_duration_seconds_count{result="Success"} 1)",
          R"(scheduler_preemption_goroutines_execution_total{result="error"} 1)",
          R"(berth_shape_cache_fallbacks_total{reason="volumes"} 1)",
          R"(berth_extender_request_duration_seconds_count{extender="http://e",result="success",verb="filter"} 1)",
          R"(scheduler_volume_scheduling_stage_error_total{operation="assume"} 1)",
      })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(SchedulerMetrics, NothingUsedNothingShown) {
  const std::string text = Lab().text();
  EXPECT_THAT(text, Not(HasSubstr("scheduler_schedule_attempts_total{")));
  EXPECT_THAT(text, Not(HasSubstr("scheduler_inflight_events{")));
  EXPECT_THAT(text, HasSubstr("scheduler_preemption_attempts_total 0"));
}

TEST(SchedulerMetrics, TheSameNameGivesTheSameHandle) {
  Lab lab;
  EXPECT_EQ(&lab.metrics.profile("a"), &lab.metrics.profile("a"));
  EXPECT_NE(&lab.metrics.profile("a"), &lab.metrics.profile("b"));
  EXPECT_EQ(&lab.metrics.plugin("a", "x"), &lab.metrics.plugin("a", "x"));
  EXPECT_NE(&lab.metrics.plugin("a", "x"), &lab.metrics.plugin("b", "x"));
  EXPECT_EQ(&lab.metrics.event("NodeAdd"), &lab.metrics.event("NodeAdd"));
}

TEST(SchedulerMetrics, AttemptsBeyondFourteenShareALabel) {
  struct Row {
    int attempts;
    const char* label;
  };
  for (const Row& row : {Row{1, "1"}, {14, "14"}, {15, "15+"}, {4000, "15+"}}) {
    Lab lab;
    lab.metrics.scheduled(row.attempts, 2s);
    EXPECT_THAT(lab.text(),
                HasSubstr("scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"" +
                          std::string(row.label) + "\"} 1"))
        << row.attempts;
  }
}

TEST(SchedulerMetrics, BucketsAreTheOnesOfKubeScheduler) {
  Lab lab;
  lab.metrics.scheduled(1, 1s);
  lab.metrics.preempted(70);
  lab.metrics.algorithm(1ms);
  const std::string text = lab.text();
  EXPECT_THAT(text, HasSubstr("scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 1"));
  EXPECT_THAT(text, HasSubstr("scheduler_preemption_victims_bucket{le=\"64\"} 0"));
  EXPECT_THAT(text, HasSubstr("scheduler_preemption_victims_sum 70"));
  EXPECT_THAT(text,
              HasSubstr("scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts=\"1\",le=\"5242.88"));
}

TEST(SchedulerMetrics, ATenthOfTheCyclesIsSampled) {
  Lab lab;
  int sampled = 0;
  for (int i = 0; i < 10'000; ++i) sampled += lab.metrics.sample() ? 1 : 0;
  EXPECT_NEAR(sampled, 1000, 200);
}

}  // namespace
}  // namespace berth::scheduler
