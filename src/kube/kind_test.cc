// SPDX-License-Identifier: Apache-2.0
#include "kube/kind.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

TEST(Kind, BuiltInKindsAreKnownByBothNames) {
  EXPECT_EQ(find_kind("v1", "Pod"), kPod);
  EXPECT_EQ(find_kind("apps/v1", "Deployment"), kDeployment);
  EXPECT_EQ(find_resource("storage.k8s.io", "v1", "csinodes"), kCsiNode);
  EXPECT_EQ(find_kind("v1", "Event"), kCoreEvent);
  EXPECT_EQ(find_kind("events.k8s.io/v1", "Event"), kEvent);
  EXPECT_EQ(kind_of(kLease).api_version(), "coordination.k8s.io/v1");
  EXPECT_FALSE(kind_of(kNode).namespaced);
  EXPECT_EQ(json_head(kPod), R"({"kind":"Pod","apiVersion":"v1")");
  EXPECT_FALSE(find_kind("v2", "Pod"));
}

TEST(Kind, LearningTwiceGivesTheSameId) {
  const KindId id = learn_kind({"x.test", "v1", "Thing", "things", true});
  EXPECT_EQ(learn_kind({"x.test", "v1", "Thing", "things", true}), id);
  EXPECT_EQ(learn_kind({"", "v1", "Pod", "pods", true}), kPod);
}

TEST(Kind, ThreadsLearnTheSameKindOnce) {
  std::vector<KindId> ids(8);
  std::vector<std::thread> threads;
  for (KindId& id : ids) threads.emplace_back([&id] { id = guess_kind("race.test/v1", "Racer"); });
  for (std::thread& thread : threads) thread.join();
  for (const KindId id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_EQ(kind_of(ids[0]).plural, "racers");
}

}  // namespace
}  // namespace berth::kube
