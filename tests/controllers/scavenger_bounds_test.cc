// SPDX-License-Identifier: Apache-2.0
// What users edit, ask for or leave in the way, and what the operator does of itself about jobs
// that run: nobody gains by it, and nothing is stuck.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "controllers/scavenger/checkpoints.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

class ScavengerBounds : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(s.wrongs, IsEmpty()); }
  static std::map<std::string, std::string> env_of(const Object& pod) {
    std::map<std::string, std::string> env;
    for (const json::Slice one : pod.member("spec")["containers"][std::size_t{0}]["env"].elements())
      env[one["name"].text()] = one["value"].text();
    return env;
  }
  ScavengerLab s{{}, 0};
  Lab& lab = s.lab;
};

TEST_F(ScavengerBounds, R27_TheProgramIsToldWhereToReport) {
  s.node("n");
  s.job("a");
  lab.run();
  EXPECT_EQ(env_of(s.pods("a").at(0)).count("SJ_CHECKPOINT_URL"), 0U) << "there is no gateway";

  ScavengerLab told({.controllers =
                         [] {
                           return *make_controllers(
                               {"scavenger-controller", "scavenger-queue-controller"},
                               {.gateway = [] { return "https://gateway:1"; }});
                         }},
                    1);
  told.job("a");
  told.lab.run();
  EXPECT_EQ(env_of(told.pods("a").at(0))["SJ_CHECKPOINT_URL"],
            "https://gateway:1/api/v1/scavengerjobs/default/a/checkpoints");
}

TEST_F(ScavengerBounds, R8_R58_WhoAsksForMuchMoreThanItUsesIsToldSo) {
  kube::learn_kind({"metrics.k8s.io", "v1beta1", "PodMetrics", "pods"});
  s.node("n");
  s.job("a", "4", R"("duration":"30m")");
  s.job("idle", "1");
  lab.run();
  std::uint64_t writes = 0;
  auto inner = std::move(lab.server.on_commit);
  lab.server.on_commit = [&, inner = std::move(inner)](KindId kind, const Object& object) mutable {
    inner(kind, object);
    writes += kind == kinds().job && object.name() == "a" ? 1 : 0;
  };
  const std::string name(s.pods("a").at(0).name());
  const auto measured = [&](std::string_view pod, std::string_view cores) {
    const KindId kind = *kube::find_resource("metrics.k8s.io", "v1beta1", "pods");
    (void)lab.erase(kind, {"default", std::string(pod)});
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":{{"name":"{}","namespace":"default","labels":{{"berth.dev/scavenger":"{}"}}}},"timestamp":"{}","window":"15s","containers":[{{"name":"main","usage":{{"cpu":"{}","memory":"1Gi"}}}}]}})",
        pod, s.get("a").uid(), kube::time_text(s.now()), cores)));
  };
  s.pod("liar", "10m");  // of nobody, whatever its label says
  for (int minute = 0; minute < 60; ++minute) {
    measured(name, minute % 2 == 0 ? "900m" : "1");
    measured("liar", "4");
    lab.run(1min);
  }
  const Object job = s.get("a");
  EXPECT_EQ(job.status()["recommendation"]["requests"]["cpu"].text(), "1150m")
      << job.status().raw();
  EXPECT_THAT(job.status()["recommendation"]["message"].text(), HasSubstr("4 asked for"));
  EXPECT_FALSE(s.get("idle").status()["recommendation"].present()) << "nothing was measured";
  EXPECT_LE(writes, 2U * (3 + 2)) << "two durations";
}

TEST_F(ScavengerBounds, F14_TheRegulatorEndsTheCheapestUntilTheThresholdIsMet) {
  s.node("n", "10");
  s.job("old", "3", R"("duration":"30m")");
  lab.run(12min);
  s.job("young", "3", R"("duration":"30m")");
  lab.run(2min);
  s.pod("more", "3");
  lab.run(1min);
  EXPECT_EQ(s.running().size(), 2U) << "it is off, and 90 % are in use";
  s.policy(R"("regulator":{"enabled":true})");
  lab.run(1min);
  EXPECT_EQ(s.phase("old"), "Running");
  EXPECT_EQ(s.phase("young"), "Interrupted");
  EXPECT_EQ(s.count("young"), 1);
  EXPECT_EQ(s.get("young").status()["verdict"]["reason"].text(), "Reclaimed");
  EXPECT_THAT(s.get("young").status()["verdict"]["message"].text(),
              HasSubstr("cpu: 9 of 10 in use, 7 are meant to be"));
  EXPECT_THAT(s.choices_told_to("young"),
              ElementsAre(HasSubstr("1 job interrupted because of cpu: 9 of 10 in use, 7 are meant "
                                    "to be: default/young (")));
  lab.run(30min);
  EXPECT_EQ(s.count("old") + s.count("young"), 1) << "60 % is where it belongs";
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "more"}));
  lab.run(10min);
  EXPECT_EQ(s.running().size(), 2U);
}

TEST_F(ScavengerBounds, R60_AnEditedSpecCountsFromTheNextAttemptOn) {
  s.node("n", "20");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerQuota","metadata":{"name":"q","namespace":"default"},"spec":{"hard":{"cpu":"6"}}})"));
  s.job("a", "2", R"("replicas":2)");
  lab.run();
  ASSERT_EQ(s.phase("a"), "Running");
  // Smaller in the spec, as large as before on the nodes.
  ASSERT_TRUE(lab.patch(kinds().job, {"default", "a"},
                        R"({"spec":{"replicas":1,"resources":{"requests":{"cpu":"1"}}}})"));
  s.job("b", "3");
  lab.run(1min);
  EXPECT_EQ(s.condition("b", "Admitted"), "False OverQuota");
  // And members that are only in the spec are not missed.
  ASSERT_TRUE(lab.patch(kinds().job, {"default", "a"}, R"({"spec":{"replicas":3}})"));
  lab.run(10min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.count("a"), 0);
  s.erase_pod(s.pods("a").at(0));
  lab.run(3min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_THAT(s.pods("a"), SizeIs(3)) << "the next attempt";
}

TEST_F(ScavengerBounds, R60_APodThatIsMadeLargerCountsAsWhatItIs) {
  s.node("n", "20");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerQuota","metadata":{"name":"q","namespace":"default"},"spec":{"hard":{"cpu":"6"}}})"));
  s.job("a", "2");
  lab.run();
  ASSERT_TRUE(lab.patch(
      kube::kPod, s.pods("a").at(0).key(),
      R"({"spec":{"containers":[{"name":"main","image":"work","resources":{"requests":{"cpu":"5","memory":"1Gi"}}}]}})",
      "resize"));
  s.job("b", "2");
  lab.run(1min);
  EXPECT_EQ(s.condition("b", "Admitted"), "False OverQuota") << s.message("b");
}

TEST_F(ScavengerBounds, R60_AJobThatIsMadeLargerByHandFailsWithAllItsPods) {
  s.node("n", "20");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"job":{"parallelism":1,"template":{"spec":{"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}}}}})"));
  lab.run();
  ASSERT_EQ(s.phase("a"), "Running");
  ASSERT_TRUE(lab.patch(kube::kJob, {"default", "a-1"}, R"({"spec":{"parallelism":9}})"));
  lab.run(10s);
  EXPECT_EQ(s.phase("a"), "Failed");
  EXPECT_EQ(s.condition("a", "Complete"), "False InvalidJob");
  EXPECT_THAT(s.message("a"), HasSubstr("9 pods run, and it was started with 1"));
  EXPECT_THAT(s.pods("a"), IsEmpty());
}

TEST_F(ScavengerBounds, R60_WhoIsCutFromItsJobDoesNotRunOn) {
  s.node("n", "20");
  for (const char* name : {"a", "b", "keeps"}) s.job(name);
  lab.run();
  ASSERT_THAT(s.running(), SizeIs(3));
  ASSERT_TRUE(lab.erase(kinds().job, {"default", "a"}, kube::Propagation::kOrphan));
  ASSERT_TRUE(lab.erase(kube::kJob, {"default", "b-1"}, kube::Propagation::kOrphan));
  lab.run(1min);
  EXPECT_FALSE(s.get("a").valid());
  std::vector<std::string> live;
  for (const Object& pod : lab.list(kube::kPod))
    if (!pod_ended(pod)) live.push_back(std::string(pod.name()).substr(0, pod.name().rfind('-')));
  EXPECT_THAT(live, UnorderedElementsAre("b-2-0", "keeps-1-0"));
  EXPECT_EQ(s.count("b"), 1);
}

TEST_F(ScavengerBounds, APodWithoutItsLabelIsNotKeptForEver) {
  s.node("n");
  s.job("a");
  lab.run();
  const Object pod = s.pods("a").at(0);
  ASSERT_TRUE(lab.patch(
      kube::kPod, pod.key(),
      fmt::format(R"({{"metadata":{{"labels":{{"{}":null}}}}}})", kube::kScavengerLabel)));
  lab.run(2min);
  EXPECT_FALSE(lab.get(kube::kPod, pod.key()).valid());
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.count("a"), 1);
}

TEST_F(ScavengerBounds, R16_AffinityOfAJobIsKeptBesideTheNodesThatWereChosen) {
  s.policy(R"("thresholdScope":"Node")");
  s.node("full", "10");
  s.node("free", "10");
  s.node("wrong", "10");
  for (const char* node : {"full", "free"})
    ASSERT_TRUE(lab.patch(kube::kNode, {"", node}, R"({"metadata":{"labels":{"disk":"ssd"}}})"));
  s.pod("holds", "7");  // on the node that comes first by name: free
  lab.run(2s);
  for (
      const char* affinity :
      {R"({})",
       R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}]}]}}})"})
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"job":{{"template":{{"spec":{{"affinity":{},"containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"2","memory":"1Gi"}}}}}}]}}}}}}}}}})",
        affinity == std::string_view("{}") ? "any" : "ssd", affinity)));
  lab.run(1min);
  const std::string taken =
      lab.get(kube::kPod, {"default", "holds"}).member("spec")["nodeName"].text();
  EXPECT_NE(s.pods("any").at(0).member("spec")["nodeName"].text(), taken);
  const Object pod = s.pods("ssd").at(0);
  EXPECT_EQ(pod.member("spec")["nodeName"].text(), taken == "free" ? "full" : "free");
  const json::Slice terms =
      pod.member("spec")["affinity"]["nodeAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  for (const json::Slice term : terms.elements()) {
    EXPECT_EQ(term["matchExpressions"][std::size_t{0}]["key"].text(), "disk");
    EXPECT_EQ(term["matchFields"].size(), 1U);
  }
}

TEST_F(ScavengerBounds, ThePolicyNamesTheSchedulerThatPlacesThem) {
  s.node("n");
  s.job("before");
  lab.run();
  s.policy(R"("schedulerName":"scavengers")");
  s.job("after");
  lab.run();
  EXPECT_EQ(s.pods("before").at(0).member("spec")["schedulerName"].text(), "");
  EXPECT_EQ(s.pods("after").at(0).member("spec")["schedulerName"].text(), "scavengers");
}

TEST_F(ScavengerBounds, R36_PodsThatNoSchedulerKnowsGiveTheirRoomBack) {
  s.places = false;
  s.node("n");
  s.policy(R"("schedulerName":"nobody")");
  s.job("a");
  lab.run(50s);
  EXPECT_THAT(s.pods("a"), SizeIs(1));
  lab.run(15s);
  EXPECT_THAT(s.pods("a"), IsEmpty());
  EXPECT_THAT(s.message("a"), HasSubstr("is there one named nobody?"));
  EXPECT_EQ(s.count("a"), 0) << "not an interruption";
}

TEST_F(ScavengerBounds, R4_GraceIsCappedByThePolicy) {
  s.policy(R"("graceMax":"20s")");
  s.node("n");
  s.job("a", "1", R"("terminationGracePeriodSeconds":3600)");
  s.job("b", "1");
  s.job("c", "1", R"("terminationGracePeriodSeconds":5)");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"d","namespace":"default"},"spec":{"job":{"template":{"spec":{"terminationGracePeriodSeconds":1000,"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}}}}})"));
  lab.run();
  const std::map<std::string, int> expected = {{"a", 20}, {"b", 20}, {"c", 5}, {"d", 20}};
  for (const auto& [name, seconds] : expected)
    EXPECT_EQ(s.pods(name).at(0).member("spec")["terminationGracePeriodSeconds"].integer(), seconds)
        << name;
}

TEST_F(ScavengerBounds, F2_TwoJobsOfOneNameInBothGroupsRun) {
  s.node("n");
  s.job("a");
  lab.run(5s);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"core.cerit.cz/v1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"job":{"template":{"spec":{"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}})"));
  lab.run(30s);
  const auto other = [&] { return lab.get(kube::cerit_kinds().job, {"default", "a"}); };
  EXPECT_THAT(other().status()["message"].text(), HasSubstr("Job a-1 is there already"));
  lab.run(5min);
  EXPECT_EQ(kube::ScavengerJobView(other()).phase(), "Running");
  EXPECT_EQ(kube::ScavengerJobView(other()).interrupted_count(), 0);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(ScavengerBounds, R62_TheLauncherCountsAndIsWaitedFor) {
  s.node("n", "10");
  const KindId mpi = kube::learn_kind({"kubeflow.org", "v2beta1", "MPIJob", "mpijobs"});
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","metadata":{"name":"other","namespace":"default"},"spec":{}})"));
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"mpijobs.kubeflow.org"}})"));
  lab.run(10min);
  const auto submit = [&](std::string_view name, int launcher) {
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"replicas":2,"resources":{{"requests":{{"cpu":"1"}}}},"mpi":{{"image":"mpi","launcher":{{"command":["mpirun"],"resources":{{"requests":{{"cpu":"{}"}}}}}}}}}}}})",
        name, launcher)));
  };
  submit("large", 6);
  lab.run(10s);
  EXPECT_EQ(s.condition("large", "Admitted"), "False Threshold") << "8 of 7 cores";
  submit("a", 2);
  lab.run(10s);
  const Object job = lab.get(mpi, {"default", "a-1"});
  ASSERT_TRUE(job.valid());
  // As the MPI operator does.
  const std::string owner = fmt::format(
      R"("ownerReferences":[{{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","name":"a-1","uid":"{}","controller":true}}])",
      job.uid());
  const json::Slice roles = job.member("spec")["mpiReplicaSpecs"];
  const json::Slice worker = roles["Worker"]["template"];
  std::string metadata(worker["metadata"].raw());
  metadata.pop_back();
  for (const char* name : {"w0", "w1"})
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{},"name":"{}","namespace":"default",{}}},"spec":{}}})",
        metadata, name, owner, worker["spec"].raw())));
  lab.run(10s);
  EXPECT_NE(s.phase("a"), "Running") << "the launcher does not run yet";
  const auto launcher = lab.create(fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"a-1-launcher","namespace":"default",{}}},"spec":{{"backoffLimit":0,"template":{}}}}})",
      owner, roles["Launcher"]["template"].raw()));
  ASSERT_TRUE(launcher);
  lab.run(10s);
  ASSERT_EQ(s.phase("a"), "Running") << s.message("a");
  EXPECT_EQ(s.count("a"), 0);
  const Object now = s.get("a");
  EXPECT_EQ(now.status()["launcherUid"].text(), launcher->uid());
  EXPECT_EQ(read_cost(now.status()["cost"])->rate_milli, 4'000) << "two workers, and a launcher";
}

}  // namespace
}  // namespace berth::controllers::stories
