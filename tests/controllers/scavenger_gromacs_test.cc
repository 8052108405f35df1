// SPDX-License-Identifier: Apache-2.0
// Calculations of which several sizes are known: the largest that finds room runs.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/scavenger/configurations.h"
#include "kube/pod_view.h"
#include "kube/quantity.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

class GromacsToTune : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(s.wrongs, IsEmpty()); }
  void tune(std::string_view more = "") {
    const auto size = [](int cores) {
      return fmt::format(R"({{"resources":{{"requests":{{"cpu":"{}"}}}}}})", cores);
    };
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"GromacsToTune","metadata":{{"name":"g","namespace":"default"}},"spec":{{"scavengerJob":{{"image":"gromacs"}},"configurations":[{},{},{}],"patience":"2m"{}}}}})",
        size(16), size(8), size(4), more)));
  }
  Object get() { return lab.get(kinds().gromacs, {"default", "g"}); }
  std::vector<std::string> states() {
    std::vector<std::string> out;
    const Object now = get();
    for (const json::Slice one : now.status()["configurations"].elements())
      out.push_back(one["state"].text());
    return out;
  }
  Object job() { return lab.get(kinds().job, {"default", get().status()["scavengerJob"].text()}); }
  ScavengerLab s{{}, 0};
  Lab& lab = s.lab;
};

TEST_F(GromacsToTune, R53_R55_ASmallerSizeIsTriedWhereALargerFindsNoRoom) {
  s.threshold = 100;
  s.policy(R"("thresholdPercent":100)");
  s.node("n", "16");
  s.pod("holds", "10");
  lab.run(2s);
  tune();
  lab.run(1min);
  ASSERT_TRUE(job().valid());
  EXPECT_EQ(job().controller()->uid, get().uid());
  EXPECT_EQ(get().status()["current"].integer(), 0);
  lab.run(10min);
  EXPECT_THAT(states(), ElementsAre("NoRoom", "NoRoom", "Running"));
  EXPECT_EQ(get().status()["phase"].text(), "Running");
  EXPECT_EQ(get().status()["history"].size(), 2U);
  EXPECT_THAT(lab.list(kinds().job), SizeIs(1)) << "those that found no room are gone";

  // Room for the largest does not end what runs; an interruption is the time to grow.
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  lab.run(10min);
  EXPECT_EQ(get().status()["current"].integer(), 2);
  const auto pods = lab.list(kube::kPod);
  ASSERT_THAT(pods, SizeIs(1));
  s.erase_pod(pods.front());
  lab.run(5min);
  EXPECT_EQ(get().status()["current"].integer(), 0);
  EXPECT_EQ(get().status()["phase"].text(), "Running");
  EXPECT_THAT(lab.list(kinds().job), SizeIs(1));
  EXPECT_EQ(kube::ScavengerJobView(job()).interrupted_count(), 1) << "it keeps its turn";
}

TEST_F(GromacsToTune, F19_ALargerSizeIsTakenOnlyWhereItFits) {
  s.threshold = 100;
  s.policy(R"("thresholdPercent":100)");
  s.node("n", "16");
  s.pod("holds", "10");
  lab.run(2s);
  tune();
  lab.run(10min);
  ASSERT_EQ(get().status()["current"].integer(), 2);
  for (int i = 1; i <= 3; ++i) {
    for (const Object& pod : lab.list(kube::kPod))
      if (!pod.label(kube::kScavengerLabel).empty() && !pod_ended(pod)) s.erase_pod(pod);
    lab.run(10s);
    EXPECT_EQ(get().status()["current"].integer(), 2) << "6 cores are free: 8 do not fit";
    lab.run(5min);
    EXPECT_EQ(get().status()["phase"].text(), "Running");
    EXPECT_EQ(kube::ScavengerJobView(job()).interrupted_count(), i);
  }
  EXPECT_EQ(get().status()["made"].integer(), 3) << "16, 8 and 4 cores";
  // Room for the middle one: not the largest, which would have to be taken back.
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  s.pod("holds-less", "6");
  lab.run(2s);
  for (const Object& pod : lab.list(kube::kPod))
    if (!pod.label(kube::kScavengerLabel).empty() && !pod_ended(pod)) s.erase_pod(pod);
  lab.run(20min);
  EXPECT_THAT(states(), ElementsAre("NoRoom", "Running", "Interrupted"));
  EXPECT_EQ(kube::ScavengerJobView(job()).interrupted_count(), 4);
}

TEST_F(GromacsToTune, F19_EndsWithItsJobAndTriesAgainFromTheTop) {
  s.threshold = 100;
  s.policy(R"("thresholdPercent":100)");
  s.node("n", "16");
  s.pod("holds", "14");
  lab.run(2s);
  tune(R"(,"upgrade":"Never")");
  lab.run(20min);
  EXPECT_GT(get().status()["made"].integer(), 3);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  lab.run(15min);
  ASSERT_EQ(get().status()["phase"].text(), "Running");
  for (const Object& pod : lab.list(kube::kPod))
    if (!pod_ended(pod)) s.end(pod, 0);
  lab.run(1min);
  EXPECT_EQ(get().status()["phase"].text(), "Completed");
  const auto revision = get().revision();
  lab.run(1h);
  EXPECT_EQ(get().revision(), revision);
}

TEST_F(GromacsToTune, R53_AJobThatIsRefusedIsToldOfAndTriedAgainOnceItIsMended) {
  s.node("n", "40");
  lab.server.admit = [](const kube::ApiRequest& request) -> Result<Ok> {
    if (request.verb != kube::Verb::kCreate || request.kind != kinds().job) return Ok{};
    if (request.body.bytes->find("gromacs:2") != std::string::npos) return Ok{};
    return fail(Reason::kInvalid, "spec.image: no such image");
  };
  tune();
  lab.run(30s);
  EXPECT_EQ(get().status()["message"].text(), "spec.image: no such image");
  EXPECT_EQ(kube::find_condition(get().status(), "Running")["reason"].text(), "InvalidJob");
  const auto revision = get().revision();
  lab.run(10min);
  EXPECT_EQ(get().revision(), revision) << "it is told once";
  ASSERT_TRUE(lab.patch(kinds().gromacs, {"default", "g"},
                        R"({"spec":{"scavengerJob":{"image":"gromacs:2"}}})"));
  lab.run(1min);
  EXPECT_EQ(get().status()["phase"].text(), "Running");
  EXPECT_FALSE(get().status()["message"].present());
}

TEST(GromacsConfigurations, SizesAreHalvedDownToTheSmallest) {
  const auto sizes = configurations_of(
      json::Slice(R"({"tune":{"maxCpu":"16","minCpu":"4","memoryPerCpu":"1Gi","gpus":1}})"));
  ASSERT_THAT(sizes, SizeIs(3));
  EXPECT_EQ(json::Slice(sizes[1].resources)["requests"].raw(),
            R"({"cpu":"8","memory":"8Gi","nvidia.com/gpu":"1"})");
}

}  // namespace
}  // namespace berth::controllers::stories
