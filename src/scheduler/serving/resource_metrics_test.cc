// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/resource_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::HasSubstr;

kube::Object pod(std::string_view spec, std::string_view phase = "Running") {
  return kube::Object::
      parse(kube::kPod,
            fmt::format(
                R"({{"metadata":{{"name":"p","namespace":"d"}},"spec":{},"status":{{"phase":"{}"}}}})",
                spec, phase))
          .value();
}

TEST(ResourceMetrics, AreShownAPodAndResourceALine) {
  ResourceMetrics metrics;
  ASSERT_TRUE(metrics.add(
      pod(R"({"nodeName":"n1","schedulerName":"s\"1","priority":7,"containers":[{"resources":{
        "requests":{"cpu":"250m","memory":"128Mi","hugepages-2Mi":"0","example.com/chip":"2"},
        "limits":{"cpu":"1"}}}]})")));
  EXPECT_EQ(
      metrics.take(),
      "# HELP kube_pod_resource_limit What pods may use at most, as the scheduler and the kubelet "
      "understand it\n"
      "# TYPE kube_pod_resource_limit gauge\n"
      R"(kube_pod_resource_limit{namespace="d",node="n1",pod="p",priority="7",resource="cpu",scheduler="s\"1",unit="cores"} 1
)"
      "# HELP kube_pod_resource_request What pods ask for, as the scheduler and the kubelet "
      "understand it\n"
      "# TYPE kube_pod_resource_request gauge\n"
      R"(kube_pod_resource_request{namespace="d",node="n1",pod="p",priority="7",resource="cpu",scheduler="s\"1",unit="cores"} 0.25
kube_pod_resource_request{namespace="d",node="n1",pod="p",priority="7",resource="example.com/chip",scheduler="s\"1",unit=""} 2
kube_pod_resource_request{namespace="d",node="n1",pod="p",priority="7",resource="memory",scheduler="s\"1",unit="bytes"} 1.34217728e+08
)");
  EXPECT_EQ(metrics.take(), "");
}

TEST(ResourceMetrics, LeaveOutPodsThatEndedOnANode) {
  struct Row {
    const char* node;
    const char* phase;
    bool shown;
  };
  for (const Row& row : {Row{"n1", "Succeeded", false},
                         {"n1", "Failed", false},
                         {"n1", "Running", true},
                         {"", "Failed", true}}) {
    ResourceMetrics metrics;
    ASSERT_TRUE(metrics.add(pod(
        fmt::format(
            R"({{"nodeName":"{}","containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}})",
            row.node),
        row.phase)));
    EXPECT_EQ(!metrics.take().empty(), row.shown) << row.node << row.phase;
  }
}

TEST(ResourceMetrics, ABadPodIsLeftOutAndSaid) {
  ResourceMetrics metrics;
  const auto bad =
      metrics.add(pod(R"({"containers":[{"resources":{"requests":{"cpu":"lots"}}}]})"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("spec.containers[0].resources.requests.cpu"));
  EXPECT_EQ(metrics.take(), "");
}

}  // namespace
}  // namespace berth::scheduler
