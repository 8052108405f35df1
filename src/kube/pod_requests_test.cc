// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_requests.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

Object pod(std::string_view spec) {
  Result<Object> got = Object::parse(
      kPod, fmt::format(R"({{"metadata":{{"name":"p","namespace":"d"}},"spec":{}}})", spec));
  EXPECT_TRUE(got) << got.error().message;
  return *got;
}

std::map<std::string, std::string> texts(const ResourceList& list) {
  std::map<std::string, std::string> out;
  for (const auto& [name, amount] : list) out[name] = amount.text();
  return out;
}

// Random pods and what k8s.io/component-helpers v0.36.4 says they request.
TEST(PodRequests, AgreeWithKubernetesOnRecordedPods) {
  const char* other = std::getenv("BERTH_POD_REQUESTS");
  std::ifstream file(other != nullptr ? other : "src/kube/testdata/pod_requests.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const json::Slice row(line);
    const Result<Object> parsed = Object::parse(kPod, row["pod"].raw());
    ASSERT_TRUE(parsed) << parsed.error().message;
    PodRequestOptions options{.use_status = row["useStatus"].boolean(),
                              .pod_level_resize = row["podLevelResize"].boolean(),
                              .exclude_overhead = row["excludeOverhead"].boolean(),
                              .skip_pod_level = row["skipPodLevel"].boolean()};
    if (row["nonMissing"].boolean())
      options.non_missing = {{"cpu", *Quantity::parse("100m")},
                             {"memory", *Quantity::parse("200Mi")}};
    const Result<ResourceList> got = pod_requests(*parsed, options);
    ASSERT_TRUE(got) << got.error().message;
    std::map<std::string, std::string> want;
    for (const auto& [name, amount] : row["requests"].members())
      want[std::string(name)] = amount.text();
    EXPECT_EQ(texts(*got), want) << line;
    ++count;
  }
  EXPECT_GE(count, 150);
}

TEST(PodRequests, ABadQuantityNamesItsPlace) {
  const Result<ResourceList> got = pod_requests(pod(
      R"({"containers":[{"name":"a"},{"name":"b","resources":{"requests":{"memory":"1.5.2Gi"}}}]})"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message,
              ::testing::StartsWith("spec.containers[1].resources.requests.memory: "));
  EXPECT_THAT(got.error().message, ::testing::HasSubstr("1.5.2Gi"));
}

TEST(PodRequests, ALimitIsTheRequestOfAManifestThatNoServerHasSeen) {
  const Object p = pod(
      R"({"containers":[{"name":"a","resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}}]})");
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(texts(*pod_requests(p)), (Texts{{"cpu", "1"}}));
  EXPECT_EQ(texts(*pod_requests(p, {.limits_imply_requests = true})),
            (Texts{{"cpu", "1"}, {"memory", "1Gi"}}));
}

TEST(PodLimits, AddUpLikeRequestsWithOverheadWhereThereIsALimit) {
  struct Row {
    const char* spec;
    std::map<std::string, std::string> limits;
  };
  const Row rows[] = {
      {R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],"overhead":{"cpu":"1"}})", {}},
      {R"({"containers":[{"resources":{"limits":{"cpu":"1"}}},{"resources":{"limits":{"cpu":"2"}}}],
           "overhead":{"cpu":"250m","memory":"1Mi"}})",
       {{"cpu", "3250m"}}},
      {R"({"containers":[{"resources":{"limits":{"cpu":"1"}}}],
           "initContainers":[{"resources":{"limits":{"cpu":"1"}},"restartPolicy":"Always"},
                             {"resources":{"limits":{"cpu":"5"}}}]})",
       {{"cpu", "6"}}},
      {R"({"containers":[{"resources":{"limits":{"cpu":"1","example.com/chip":"2"}}}],
           "resources":{"limits":{"cpu":"4","example.com/chip":"9"}}})",
       {{"cpu", "4"}, {"example.com/chip", "2"}}},
  };
  for (const Row& row : rows) {
    const auto limits = pod_limits(pod(row.spec));
    ASSERT_TRUE(limits) << limits.error().message;
    EXPECT_EQ(texts(*limits), row.limits) << row.spec;
  }
  const auto bad = pod_limits(pod(R"({"containers":[{"resources":{"limits":{"cpu":"x"}}}]})"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("spec.containers[0].resources.limits.cpu"));
}

}  // namespace
}  // namespace berth::kube
