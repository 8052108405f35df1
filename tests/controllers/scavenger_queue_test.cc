// SPDX-License-Identifier: Apache-2.0
// Which ScavengerJobs start, and why the others wait.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

class ScavengerQueue : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(s.wrongs, IsEmpty()); }
  // As if it had been interrupted so often before.
  void interrupted(const std::string& name, int times) {
    s.checks = false;
    ASSERT_TRUE(s.lab.patch(kinds().job, {"default", name},
                            fmt::format(R"({{"status":{{"interruptedCount":{}}}}})", times),
                            "status"));
    s.checks = true;
  }
  ScavengerLab s{{}, 0};
  Lab& lab = s.lab;
};

TEST_F(ScavengerQueue, R42_R43_R25_StartsEndAtTheThresholdAndSayWhy) {
  for (int i = 0; i < 10; ++i) s.node(fmt::format("n{}", i), "10");
  s.pod("ordinary", "9");
  for (int i = 0; i < 10; ++i) s.pod(fmt::format("o{}", i), "4");  // 49 of 100
  lab.run(5s);
  for (int i = 0; i < 8; ++i) s.job(fmt::format("j{}", i), "4");
  lab.run(2min);
  EXPECT_THAT(s.running(), SizeIs(5)) << "49 + 20 = 69; another would be 73";
  std::string waiting;
  for (int i = 0; i < 8; ++i)
    if (s.phase(fmt::format("j{}", i)) == "Pending") waiting = fmt::format("j{}", i);
  EXPECT_EQ(s.condition(waiting, "Admitted"), "False Threshold");
  EXPECT_THAT(s.message(waiting), HasSubstr("cpu"));

  s.threshold = 80;
  s.policy(R"("thresholdPercent":80)");
  lab.run(1min);
  EXPECT_THAT(s.running(), SizeIs(7)) << "69 + 8 = 77";
  s.threshold = 81;
  s.policy(R"("thresholdPercent":81)");
  lab.run(1min);
  EXPECT_THAT(s.running(), SizeIs(8));
  const Object policy = lab.get(kinds().policy, {"", "default"});
  lab.run(1min);
  EXPECT_EQ(lab.get(kinds().policy, {"", "default"}).status()["thresholdPercent"].integer(), 81);
  EXPECT_EQ(lab.get(kinds().policy, {"", "default"}).status()["utilisationPercent"].integer(), 81);
}

TEST_F(ScavengerQueue, R43_CurrentLeavesTheCandidateOut) {
  s.threshold = 100;
  s.policy(R"("thresholdMode":"Current")");
  s.node("n", "10");
  s.job("a", "6");
  s.job("b", "4");
  lab.run();
  EXPECT_THAT(s.running(), SizeIs(2)) << "60 % is below 70, so one more starts";
}

TEST_F(ScavengerQueue, R34_InterruptedFirstThenWhateverFits) {
  s.threshold = 100;
  s.policy(R"("thresholdPercent":100)");
  s.node("n", "11");
  s.pod("holds", "11");
  lab.run(2s);
  s.job("a", "8");
  s.job("b", "2");
  s.job("c", "2");
  lab.run(2s);
  interrupted("a", 2);
  interrupted("b", 1);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  s.pod("less", "8");  // 3 are free
  lab.run(1min);
  EXPECT_THAT(s.running(), ElementsAre("b"));
  EXPECT_EQ(s.condition("a", "Admitted").substr(0, 5), "False");
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "less"}));
  lab.run(1min);
  EXPECT_THAT(s.running(), ElementsAre("a", "b")) << "the most interrupted first";
}

TEST_F(ScavengerQueue, R39_TheWholeListIsLookedAtNotOnlyTheNewOne) {
  s.node("n", "10");
  s.job("old", "6");
  lab.run(2s);
  ASSERT_THAT(s.running(), ElementsAre("old"));
  s.erase_pod(s.pods("old").at(0));
  lab.run(10s);
  s.pod("holds", "5");
  lab.run(2min);
  ASSERT_EQ(s.phase("old"), "Interrupted");
  s.job("new", "6");
  lab.run(10s);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  lab.run(20s);
  EXPECT_THAT(s.running(), ElementsAre("old"));
}

TEST_F(ScavengerQueue, R37_AgeingGetsAheadOnlyWhereItIsWanted) {
  s.policy(R"("starvation":"Aging","agingEvery":"1h")");
  s.node("n", "10");
  s.pod("holds", "7");
  lab.run(2s);
  s.job("old", "6");
  lab.run(3h);
  s.job("new", "6");
  lab.run(2s);
  interrupted("new", 2);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "holds"}));
  lab.run(20s);
  EXPECT_THAT(s.running(), ElementsAre("old"));
}

TEST_F(ScavengerQueue, R60_OverQuotaWaitsAndOthersPass) {
  s.node("n", "20");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerQuota","metadata":{"name":"q","namespace":"default"},"spec":{"maxJobs":2,"hard":{"cpu":"3"}}})"));
  s.job("a", "1");
  s.job("b", "1");
  s.job("c", "1");
  lab.run(5s);
  s.job("other", "4", "", "elsewhere");
  lab.run(1min);
  EXPECT_THAT(s.running(), ElementsAre("a", "b", "other"));
  EXPECT_EQ(s.condition("c", "Admitted"), "False OverQuota");
  const Object quota = lab.get(kinds().quota, {"default", "q"});
  EXPECT_EQ(quota.status()["used"]["jobs"].integer(), 2);
  EXPECT_EQ(quota.status()["waiting"].integer(), 1);
  s.end(s.pods("a").at(0), 0);
  lab.run(1min);
  EXPECT_EQ(s.phase("c"), "Running");
}

TEST_F(ScavengerQueue, R61_EveryNodeKeepsItsOwnReserve) {
  s.policy(R"("thresholdScope":"Node")");
  s.node("large", "20");
  s.node("small", "4");
  for (int i = 0; i < 8; ++i) s.job(fmt::format("j{}", i), "2");
  lab.run(2min);
  std::map<std::string, int> cores;
  for (const Object& pod : lab.list(kube::kPod))
    if (!pod_ended(pod)) cores[pod.member("spec")["nodeName"].text()] += 2;
  EXPECT_LE(cores["large"], 14);
  EXPECT_LE(cores["small"], 2);
  EXPECT_EQ(s.running().size(), 8U);
}

TEST_F(ScavengerQueue, ACordonedNodeAndAPendingPodCount) {
  s.node("n", "10");
  s.node("m", "10");
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "m"}, R"({"spec":{"unschedulable":true}})"));
  s.pod("fits-nowhere", "12");
  lab.run(2s);
  s.job("a", "1");
  lab.run(1min);
  EXPECT_EQ(s.condition("a", "Admitted"), "False Threshold") << "12 of 10 are wanted by others";
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "fits-nowhere"}));
  lab.run(10s);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(ScavengerQueue, ItBacksOffLongerWhileRunsAreOfNoUse) {
  s.node("n", "10");
  s.job("a", "1", R"("duration":"30m")");
  lab.run();
  std::vector<Duration> pauses;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(s.phase("a"), "Running");
    s.erase_pod(s.pods("a").at(0));
    lab.run(3s);
    const Object job = s.get("a");
    pauses.push_back(*kube::parse_time(job.status()["notBefore"].text()) -
                     *kube::parse_time(job.status()["verdict"]["at"].text()));
    lab.run(6min);
  }
  for (std::size_t i = 1; i < pauses.size(); ++i) EXPECT_GT(pauses[i], pauses[i - 1]);
  lab.run(40min);
  s.erase_pod(s.pods("a").at(0));
  lab.run(50s);
  EXPECT_EQ(s.phase("a"), "Running") << "a whole window was of use";
}

TEST_F(ScavengerQueue, F18_SharesAreEvenBetweenNamespaces) {
  s.policy(R"("fairShares":{"enabled":true})");
  s.life = [](const Object&) { return PodLife{.run = 10min}; };
  for (int i = 0; i < 200; ++i) s.job(fmt::format("many{}", i), "2", "", "many");
  for (int i = 0; i < 20; ++i) s.job(fmt::format("few{}", i), "2", "", "few");
  s.node("n", "20");
  std::map<std::string, double> used;
  for (int minute = 0; minute < 60; ++minute) {
    lab.run(1min);
    for (const Object& pod : lab.list(kube::kPod))
      if (pod.status()["phase"].equals("Running")) used[std::string(pod.ns())] += 2;
  }
  EXPECT_NEAR(used["many"] / (used["many"] + used["few"]), 0.5, 0.05);
}

TEST_F(ScavengerQueue, F18_WhatWasUsedByJobsThatAreDeletedCounts) {
  s.policy(R"("fairShares":{"enabled":true})");
  s.node("n", "10");
  s.job("greedy", "7", "", "ann");
  lab.run(2h);
  ASSERT_EQ(kube::ScavengerJobView(s.get("greedy", "ann")).phase(), "Running");
  ASSERT_TRUE(lab.erase(kinds().job, {"ann", "greedy"}));
  s.pod("all", "10");
  lab.run(1min);
  s.job("again", "7", "", "ann");  // waits longer, and would be first
  lab.run(1s);
  s.job("modest", "7", "", "bob");
  lab.run(10s);
  s.start_operator();  // it knows nothing but what is written
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "all"}));
  lab.run(1min);
  EXPECT_EQ(kube::ScavengerJobView(s.get("modest", "bob")).phase(), "Running");
  EXPECT_EQ(kube::ScavengerJobView(s.get("again", "ann")).phase(), "Pending");
  const Object policy = lab.get(kinds().policy, {"", "default"});
  EXPECT_NEAR(static_cast<double>(*policy.status()["shares"]["ann"].integer()), 7 * 7200, 7 * 400)
      << "less what two hours of a day's half-life take";
  const auto revision = policy.revision();
  ASSERT_TRUE(lab.erase(kinds().job, {"bob", "modest"}));
  ASSERT_TRUE(lab.erase(kinds().job, {"ann", "again"}));
  lab.run(2min);
  const auto quiet = lab.get(kinds().policy, {"", "default"}).revision();
  lab.run(1h);
  EXPECT_EQ(lab.get(kinds().policy, {"", "default"}).revision(), quiet) << "nobody uses anything";
  EXPECT_NE(quiet, revision);
}

TEST_F(ScavengerQueue, F16_TooManyInterruptionsStartItInTheClassThatGoesLast) {
  s.node("n", "10");
  s.job("a", "1", R"("maxInterruptions":1)");
  lab.run();
  EXPECT_EQ(s.pods("a").at(0).member("spec")["priorityClassName"].text(), "scavenger");
  s.erase_pod(s.pods("a").at(0));
  lab.run(2min);
  EXPECT_EQ(s.pods("a").at(0).member("spec")["priorityClassName"].text(), "scavenger-starved");
}

TEST_F(ScavengerQueue, R62_AnMpiJobRunsWhereItsKindIsServed) {
  s.node("n", "10");
  const KindId mpi = kube::learn_kind({"kubeflow.org", "v2beta1", "MPIJob", "mpijobs"});
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","metadata":{"name":"other","namespace":"default"},"spec":{}})"));
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"mpijobs.kubeflow.org"}})"));
  lab.run(10min);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"replicas":2,"resources":{"requests":{"cpu":"1"}},"mpi":{"image":"mpi","slotsPerWorker":2,"launcher":{"command":["mpirun"]}}}})"));
  lab.run(10s);  // nobody makes its pods here
  const Object job = lab.get(mpi, {"default", "a-1"});
  ASSERT_TRUE(job.valid()) << s.get("a").status().raw();
  const json::Slice spec = job.member("spec");
  EXPECT_EQ(spec["slotsPerWorker"].integer(), 2);
  EXPECT_EQ(spec["mpiReplicaSpecs"]["Worker"]["replicas"].integer(), 2);
  EXPECT_EQ(spec["runPolicy"]["schedulingPolicy"]["minAvailable"].integer(), 3);
  EXPECT_EQ(spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][std::size_t{0}]
                ["command"]
                    .raw(),
            R"(["mpirun"])");
  EXPECT_EQ(job.controller()->uid, s.get("a").uid());
}

}  // namespace
}  // namespace berth::controllers::stories
