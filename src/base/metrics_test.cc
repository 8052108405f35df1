// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Metrics, ExpositionIsPrometheusTextSortedByNameAndLabels) {
  Metrics metrics;
  const auto requests = metrics.counters("requests_total", "Requests sent.", {"verb", "code"});
  requests.with({"LIST", "200"}).add();
  requests.with({"GET", "404"}).add(2);
  metrics.gauge("pods", "Pods known.").set(3.5);
  metrics.histogram("wait_seconds", "Time waited.", {0.1, 1}).observe(0.5);
  EXPECT_EQ(metrics.exposition(),
            "# HELP pods Pods known.\n"
            "# TYPE pods gauge\n"
            "pods 3.5\n"
            "# HELP requests_total Requests sent.\n"
            "# TYPE requests_total counter\n"
            "requests_total{code=\"200\",verb=\"LIST\"} 1\n"
            "requests_total{code=\"404\",verb=\"GET\"} 2\n"
            "# HELP wait_seconds Time waited.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_count 1\n"
            "wait_seconds_sum 0.5\n"
            "wait_seconds_bucket{le=\"0.1\"} 0\n"
            "wait_seconds_bucket{le=\"1\"} 1\n"
            "wait_seconds_bucket{le=\"+Inf\"} 1\n");
}

TEST(Metrics, AskingAgainGivesTheSameMetric) {
  Metrics metrics;
  metrics.counter("a_total", "A.").add();
  metrics.counter("a_total", "A.").add();
  EXPECT_EQ(metrics.counter("a_total", "A.").value(), 2);
  metrics.gauges("b", "B.", {"x"}).with({"1"}).set(4);
  metrics.gauges("b", "B.", {"x"}).with({"1"}).add(-1);
  EXPECT_EQ(metrics.gauges("b", "B.", {"x"}).with({"1"}).value(), 3);
  EXPECT_EQ(metrics.gauges("b", "B.", {"x"}).with({"2"}).value(), 0);
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.counters("a_total", "A.", {"x"}).with({"q\"b\\n\n"}).add();
  EXPECT_THAT(metrics.exposition(), HasSubstr(R"(a_total{x="q\"b\\n\n"} 1)"));
}

TEST(Metrics, TwoProcessesShareNothing) {
  Metrics one, other;
  one.counter("a_total", "A.").add();
  EXPECT_EQ(other.counter("a_total", "A.").value(), 0);
}

TEST(Metrics, ExponentialBucketsMultiply) {
  EXPECT_THAT(exponential_buckets(0.25, 2, 4), ElementsAre(0.25, 0.5, 1, 2));
}

TEST(Metrics, MayBeUsedFromSeveralThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&metrics, t] {
      const Counter mine =
          metrics.counters("a_total", "A.", {"thread"}).with({std::to_string(t % 2)});
      const Histogram wait = metrics.histogram("wait", "W.", {1});
      for (int i = 0; i < 500; ++i) {
        mine.add();
        wait.observe(i);
        if (i % 100 != 0) continue;
        EXPECT_THAT(metrics.exposition(), HasSubstr("a_total"));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(metrics.exposition(), HasSubstr("a_total{thread=\"1\"} 1000"));
  EXPECT_THAT(metrics.exposition(), HasSubstr("wait_count 2000"));
}

TEST(MetricsDeathTest, AWrongNameOrUseSaysWhichMetric) {
  Metrics metrics;
  metrics.counters("a_total", "A.", {"x"});
  EXPECT_DEATH(metrics.counter("a-total", "A."), "metric name a-total");
  EXPECT_DEATH(metrics.counters("b_total", "B.", {"le"}), "label le of metric b_total");
  EXPECT_DEATH(metrics.counters("b_total", "B.", {"x", "x"}), "label x of metric b_total");
  EXPECT_DEATH(metrics.gauges("a_total", "A.", {"x"}), "metric a_total exists with another type");
  EXPECT_DEATH(metrics.counters("a_total", "A.", {"y"}), "labels \\{x\\}");
  EXPECT_DEATH(metrics.counters("a_total", "A.", {"x"}).with({"1", "2"}),
               "metric a_total takes values for \\{x\\}");
  EXPECT_DEATH(metrics.counter("c_total", "C.").add(-1), "a counter never falls");
}

}  // namespace
}  // namespace berth
