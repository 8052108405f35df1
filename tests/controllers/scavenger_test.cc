// SPDX-License-Identifier: Apache-2.0
// ScavengerJobs from their creation to their end; every test names the rows of the specification
// that it holds.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/scavenger/job_builder.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }
std::optional<WallTime> time_at(const Object& job, const char* field) {
  return kube::parse_time(job.status()[field].text());
}
std::vector<WallTime> times_at(const Object& job, const char* field) {
  std::vector<WallTime> out;
  for (const json::Slice one : job.status()[field].elements())
    out.push_back(*kube::parse_time(one.text()));
  return out;
}

class Scavenger : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(s.wrongs, IsEmpty()); }
  ScavengerLab s;
  Lab& lab = s.lab;
};

TEST_F(Scavenger, R9_R10_R13_APlainJobIsMadeAndGoesWithItsOwner) {
  s.job("a", "1", R"("command":["work","--hard"],"args":["x"])");
  lab.run();
  ASSERT_THAT(s.jobs("a"), SizeIs(1));
  const Object job = s.jobs("a").front();
  EXPECT_EQ(job.name(), "a-1");
  const auto owner = job.controller();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->kind, "ScavengerJob");
  EXPECT_EQ(owner->uid, s.get("a").uid());
  EXPECT_TRUE(owner->block_owner_deletion);
  const Object pod = s.pods("a").at(0);
  const json::Slice main = pod.member("spec")["containers"][std::size_t{0}];
  EXPECT_EQ(main["image"].text(), "work");
  EXPECT_EQ(main["command"].raw(), R"(["work","--hard"])");
  EXPECT_EQ(main["args"].raw(), R"(["x"])");
  EXPECT_EQ(s.phase("a"), "Running");

  ASSERT_TRUE(lab.erase(kinds().job, {"default", "a"}));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kJob), IsEmpty());
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty()) << "the finalizer keeps nothing of what is gone";
}

TEST_F(Scavenger, R11_R14_R15_ResourcesReplicasAndUserAreTheMembers) {
  s.job("a", "1", R"("replicas":3,"runAsUser":1000)");
  lab.run();
  ASSERT_THAT(s.pods("a"), SizeIs(3));
  const json::Slice spec = s.jobs("a").front().member("spec");
  EXPECT_EQ(spec["completionMode"].text(), "Indexed");
  EXPECT_EQ(spec["completions"].integer(), 3);
  EXPECT_EQ(spec["parallelism"].integer(), 3);
  EXPECT_EQ(spec["backoffLimit"].integer(), 0);
  EXPECT_EQ(spec["podFailurePolicy"]["rules"].size(), 3U);
  for (const Object& pod : s.pods("a")) {
    const json::Slice main = pod.member("spec")["containers"][std::size_t{0}];
    EXPECT_EQ(main["resources"]["limits"].raw(), main["resources"]["requests"].raw());
    EXPECT_EQ(pod.member("spec")["securityContext"]["runAsUser"].integer(), 1000);
    EXPECT_TRUE(pod.member("spec")["securityContext"]["runAsNonRoot"].boolean());
    EXPECT_EQ(pod.member("spec")["priorityClassName"].text(), "scavenger");
  }
}

// What Pod Security asks of pods at its level "restricted", and what a volume needs that is root's.
TEST_F(Scavenger, R15_WhoIsNotRootRunsWhereOnlyRestrictedPodsMayAndWritesItsVolumes) {
  s.job("a", "1", R"("runAsUser":1000,"fsGroup":2000)");
  s.job("root", "1", R"("runAsUser":0)");
  lab.run();
  const Object pod = s.pods("a").at(0);
  const json::Slice whole = pod.member("spec")["securityContext"],
                    main = pod.member("spec")["containers"][std::size_t{0}]["securityContext"];
  EXPECT_EQ(whole["seccompProfile"]["type"].text(), "RuntimeDefault");
  EXPECT_EQ(whole["fsGroup"].integer(), 2000);
  EXPECT_EQ(whole["fsGroupChangePolicy"].text(), "OnRootMismatch");
  EXPECT_EQ(main.raw(), R"({"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})");
  const Object root = s.pods("root").at(0);
  EXPECT_EQ(root.member("spec")["securityContext"].raw(),
            R"({"runAsUser":0,"runAsNonRoot":false})");
  EXPECT_FALSE(root.member("spec")["containers"][std::size_t{0}]["securityContext"].present());
}

TEST_F(Scavenger, R12_EverythingNamedIsMounted) {
  for (
      const char* object :
      {R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"in","namespace":"default"},"spec":{}})",
       R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"out","namespace":"default"},"spec":{}})",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"}})",
       R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"k","namespace":"default"}})"})
    ASSERT_TRUE(lab.create(object));
  s.job(
      "a", "1",
      R"("persistentVolumeClaims":[{"name":"in","mountPath":"/in","readOnly":true},{"name":"out","mountPath":"/out","subPath":"x"}],"configMaps":[{"name":"c","mountPath":"/c"}],"secrets":[{"name":"k","mountPath":"/k"}])");
  lab.run();
  const Object pod = s.pods("a").at(0);
  EXPECT_EQ(pod.member("spec")["volumes"].size(), 5U) << "four, and the annotations";
  std::vector<std::string> mounts;
  for (const json::Slice one :
       pod.member("spec")["containers"][std::size_t{0}]["volumeMounts"].elements())
    mounts.push_back(fmt::format("{}{}{}", one["mountPath"].text(), one["subPath"].text(),
                                 one["readOnly"].boolean() ? " ro" : ""));
  EXPECT_THAT(mounts, ElementsAre("/in ro", "/outx", "/c", "/k", "/etc/berth"));
}

TEST_F(Scavenger, R16_AWholeJobRunsUnderTheSameRules) {
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"job":{"parallelism":2,"completions":2,"backoffLimit":5,"ttlSecondsAfterFinished":1,"template":{"metadata":{"labels":{"app":"x"}},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"main","image":"i","env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"1"}}}]}}}}})"));
  lab.run();
  ASSERT_THAT(s.pods("a"), SizeIs(2));
  const Object pod = s.pods("a").at(0);
  EXPECT_EQ(pod.label("app"), "x");
  EXPECT_EQ(pod.member("spec")["priorityClassName"].text(), "scavenger");
  EXPECT_EQ(pod.member("spec")["restartPolicy"].text(), "Never");
  const json::Slice spec = s.jobs("a").front().member("spec");
  EXPECT_EQ(spec["backoffLimit"].integer(), 0);
  EXPECT_FALSE(spec["ttlSecondsAfterFinished"].present()) << "it would take the evidence away";
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(Scavenger, R57_DataStaysOnItsClaimAndNobodyStagesItButWhoSaysSo) {
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"in","namespace":"default"},"spec":{}})"));
  s.job("a", "1", R"("persistentVolumeClaims":[{"name":"in","mountPath":"/in"}])");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"b","namespace":"default"},"spec":{"job":{"template":{"spec":{"initContainers":[{"name":"stage","image":"rsync"}],"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}})"));
  lab.run();
  const auto claims = [&] {
    std::vector<std::string> names;
    for (const json::Slice one : s.pods("a").at(0).member("spec")["volumes"].elements())
      if (one["persistentVolumeClaim"])
        names.push_back(one["persistentVolumeClaim"]["claimName"].text());
    return names;
  };
  EXPECT_THAT(claims(), ElementsAre("in"));
  EXPECT_FALSE(s.pods("a").at(0).member("spec")["initContainers"].present());
  s.erase_pod(s.pods("a").at(0));
  lab.run(2min);
  EXPECT_EQ(s.count("a"), 1);
  EXPECT_THAT(claims(), ElementsAre("in")) << "the next attempt finds what the last one left";
  const json::Slice own = s.pods("b").at(0).member("spec")["initContainers"];
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[std::size_t{0}]["name"].text(), "stage");
}

TEST_F(Scavenger, R6_R19_OneMemberGoesAndAllGo) {
  s.job("a", "1", R"("replicas":4)");
  lab.run();
  ASSERT_THAT(s.pods("a"), SizeIs(4));
  s.disrupt(s.pods("a").at(2), "EvictionByEvictionAPI");
  lab.run(2s);
  for (const Object& pod : s.pods("a")) EXPECT_TRUE(pod.deleting()) << pod.name();
  lab.run(10s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(s.count("a"), 1) << "an episode, not a pod";
  EXPECT_THAT(s.jobs("a"), IsEmpty());
  lab.run(2min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_THAT(s.pods("a"), SizeIs(4));
  EXPECT_EQ(s.jobs("a").front().name(), "a-2");
}

TEST_F(Scavenger, R18_R21_R22_R23_PhasesAndTimesFollowOneAnother) {
  std::vector<std::string> phases;
  auto inner = std::move(lab.server.on_commit);
  lab.server.on_commit = [&, inner = std::move(inner)](KindId kind, const Object& object) mutable {
    inner(kind, object);
    if (kind != kinds().job) return;
    const std::string phase = kube::ScavengerJobView(object).phase();
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  };
  s.job("a");
  for (int i = 0; i < 3; ++i) {
    lab.run(15min);
    ASSERT_EQ(s.phase("a"), "Running");
    s.erase_pod(s.pods("a").at(0));
  }
  lab.run(15min);
  s.end(s.pods("a").at(0), 0);
  lab.run(1min);
  EXPECT_THAT(phases, ElementsAre("Pending", "Running", "Interrupted", "Running", "Interrupted",
                                  "Running", "Interrupted", "Running", "Completed"));
  const Object job = s.get("a");
  const auto ran = times_at(job, "runningTimestamps"),
             gone = times_at(job, "interruptedTimestamps");
  ASSERT_THAT(ran, SizeIs(4));
  ASSERT_THAT(gone, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LT(ran[i], gone[i]);
    EXPECT_LT(gone[i], ran[i + 1]);
  }
  EXPECT_GT(*time_at(job, "finishedTimestamp"), ran.back());
  EXPECT_EQ(job.status()["started"].integer(), 4);
}

TEST_F(Scavenger, R24_R29_R30_ThePriorityRisesInStepsAndStartsOver) {
  s.job("a", "1", R"("duration":"30m")");
  lab.run(20s);
  ASSERT_EQ(s.phase("a"), "Running");
  const WallTime start = times_at(s.get("a"), "runningTimestamps").front();
  const auto after = [&](Duration time) {
    lab.run(start + time + 1s - s.now());
    return s.get("a").status()["runningPriority"].integer();
  };
  EXPECT_EQ(after(0min), 0);
  EXPECT_EQ(after(10min), 1);
  s.stop_operator();
  EXPECT_EQ(after(15min), 1);
  s.start_operator();
  EXPECT_EQ(after(20min), 2) << "a restart does not begin anew";
  EXPECT_FALSE(s.get("a").status()["priorityStartOverTimestamp"].present());
  EXPECT_EQ(after(30min), 0);
  EXPECT_EQ(time_at(s.get("a"), "priorityStartOverTimestamp"), start + 30min);
  EXPECT_EQ(after(40min), 1);
  const auto revision = s.get("a").revision();
  EXPECT_EQ(after(95min), 0);
  EXPECT_EQ(time_at(s.get("a"), "priorityStartOverTimestamp"), start + 90min);
  EXPECT_GT(s.get("a").revision(), revision);

  s.erase_pod(s.pods("a").at(0));
  lab.run(5min);
  ASSERT_EQ(s.phase("a"), "Running");
  EXPECT_FALSE(s.get("a").status()["priorityStartOverTimestamp"].present()) << "of the new run";
}

TEST_F(Scavenger, R29_FiveStepsAreEverySixMinutes) {
  s.policy(R"("steps":5)");
  s.job("a", "1", R"("duration":"30m")");
  lab.run(20s);
  const WallTime start = times_at(s.get("a"), "runningTimestamps").front();
  std::vector<std::int64_t> seen;
  for (int i = 0; i < 6; ++i) {
    lab.run(start + i * 6min + 1s - s.now());
    seen.push_back(s.get("a").status()["runningPriority"].integer().value_or(-1));
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 0));
}

TEST_F(Scavenger, R32_ItsOwnFaultIsNeverTriedAgain) {
  s.job("a");
  lab.run();
  s.end(s.pods("a").at(0), 3);
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Failed");
  EXPECT_THAT(s.message("a"), HasSubstr("exit code 3"));
  EXPECT_EQ(s.condition("a", "Complete"), "False AppFailed");
  EXPECT_EQ(s.count("a"), 0);
  const auto revision = s.get("a").revision();
  ASSERT_THAT(s.jobs("a"), SizeIs(1)) << "people read its logs";
  ASSERT_TRUE(lab.erase(kube::kJob, s.jobs("a").front().key()));
  lab.run(24h);
  EXPECT_THAT(s.jobs("a"), IsEmpty());
  EXPECT_EQ(s.get("a").revision(), revision);
  EXPECT_THAT(s.left_over(), IsEmpty());
}

TEST_F(Scavenger, R32_WhatRanOutOfMemorySaysSo) {
  s.job("a");
  lab.run();
  s.end(s.pods("a").at(0), 137, "", "OOMKilled");
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Failed");
  EXPECT_EQ(s.condition("a", "Complete"), "False OOMKilled");
}

TEST_F(Scavenger, R33_AnyExternalDeletionInterrupts) {
  int count = 0;
  s.job("a");
  lab.run();
  for (const char* how : {"", "EvictionByEvictionAPI", "PreemptionByScheduler",
                          "DeletionByTaintManager", "TerminationByKubelet", "DeletionByPodGC"}) {
    ASSERT_THAT(s.pods("a"), SizeIs(1)) << how;
    const Object pod = s.pods("a").front();
    if (std::string_view(how).empty())
      s.erase_pod(pod);
    else
      s.disrupt(pod, how);
    lab.run(10s);
    EXPECT_EQ(s.phase("a"), "Interrupted") << how;
    EXPECT_EQ(s.count("a"), ++count) << how;
    EXPECT_THAT(s.jobs("a"), IsEmpty()) << how;
    EXPECT_NE(s.condition("a", "Running"), "False ") << how;
    lab.run(30min);
    EXPECT_EQ(s.phase("a"), "Running") << how;
  }
}

TEST_F(Scavenger, R35_NothingIsWrittenAfterTheEnd) {
  s.job("a");
  lab.run();
  s.end(s.pods("a").at(0), 0);
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Completed");
  EXPECT_EQ(s.condition("a", "Complete"), "True Completed");
  const auto revision = s.get("a").revision();
  lab.run(24h);
  EXPECT_EQ(s.get("a").revision(), revision);
  EXPECT_THAT(s.left_over(), IsEmpty());
}

TEST_F(Scavenger, R36_AJobThatHangsIsTakenBackAndTriedAgain) {
  s.job("a", "4", R"("nodeSelector":{"disk":"ssd"})");
  lab.run();
  EXPECT_EQ(s.condition("a", "Admitted"), "False NoFit") << "no node has the label";
  EXPECT_THAT(s.jobs("a"), IsEmpty());

  s.places = false;  // a scheduler that finds no place for what should fit
  s.job("b", "4");
  lab.run(2s);
  ASSERT_THAT(s.pods("b"), SizeIs(1));
  ASSERT_TRUE(lab.patch(
      kube::kPod, s.pods("b").front().key(),
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available","lastTransitionTime":"{}"}}]}}}})",
          kube::time_text(s.now())),
      "status"));
  lab.run(50s);
  EXPECT_THAT(s.pods("b"), SizeIs(1)) << "within its grace";
  lab.run(15s);
  EXPECT_THAT(s.pods("b"), IsEmpty());
  EXPECT_THAT(s.jobs("b"), IsEmpty());
  EXPECT_EQ(s.phase("b"), "Pending");
  EXPECT_EQ(s.count("b"), 0) << "not an interruption";
  EXPECT_THAT(s.message("b"), HasSubstr("0/3 nodes are available"));
  s.places = true;
  lab.run(2min);
  EXPECT_EQ(s.phase("b"), "Running");
}

TEST_F(Scavenger, R36_WhatCannotBeginGivesItsRoomBackAndSaysWhy) {
  s.life = [](const Object&) { return PodLife{.start = 100h}; };
  s.job("typo", "9", R"("replicas":2)");
  lab.run(2s);
  s.job("next", "9");
  lab.run(5s);
  ASSERT_THAT(s.pods("typo"), SizeIs(2));
  EXPECT_EQ(s.condition("next", "Admitted"), "False Threshold");
  const auto kubelet_says = [&](std::string_view why) {
    for (const Object& pod : s.pods("typo"))
      ASSERT_TRUE(lab.patch(
          kube::kPod, pod.key(),
          fmt::format(
              R"({{"status":{{"startTime":"{}","containerStatuses":[{{"name":"main","ready":false,"restartCount":0,"image":"","imageID":"","state":{{"waiting":{{"reason":"{}","message":"wrok: not found"}}}}}}]}}}})",
              kube::time_text(s.now()), why),
          "status"));
  };
  kubelet_says("ContainerCreating");
  lab.run(30min);
  EXPECT_THAT(s.pods("typo"), SizeIs(2)) << "a large image takes its time";
  kubelet_says("ErrImagePull");
  lab.run(10s);
  EXPECT_EQ(s.message("typo"), fmt::format("pod {} cannot begin: ErrImagePull: wrok: not found",
                                           s.pods("typo").at(0).name()));
  EXPECT_THAT(s.pods("typo"), SizeIs(2)) << "within its grace";
  lab.run(55s);
  EXPECT_THAT(s.pods("typo"), IsEmpty());
  EXPECT_EQ(s.phase("typo"), "Pending");
  EXPECT_EQ(s.count("typo"), 0) << "not an interruption";
  EXPECT_THAT(s.message("typo"), HasSubstr("ErrImagePull: wrok: not found"));
  EXPECT_EQ(s.condition("next", "Admitted"), "True Admitted") << "others get the room";
}

TEST_F(Scavenger, R36_APodThatIsRefusedIsToldOf) {
  lab.server.admit = [](const kube::ApiRequest& request) -> Result<Ok> {
    if (request.verb != kube::Verb::kCreate || request.kind != kube::kPod) return Ok{};
    return fail(Reason::kForbidden, R"(violates PodSecurity "restricted:latest")");
  };
  s.job("a");
  lab.run(70s);
  EXPECT_EQ(s.phase("a"), "Pending");
  EXPECT_THAT(s.message("a"), HasSubstr("Job a-1 made 0 of 1 pods: "));
  EXPECT_THAT(s.message("a"), HasSubstr(R"(violates PodSecurity "restricted:latest")"));
  EXPECT_EQ(s.count("a"), 0);
  lab.server.admit = nullptr;
  lab.run(2min);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(Scavenger, R38_APodsEndIsSeenWithinASecondAndWaitingCostsNothing) {
  s.pod("all", "10");
  s.pod("all2", "10");
  s.pod("all3", "9");
  s.job("a", "1");
  for (int i = 0; i < 20; ++i) s.job(fmt::format("w{}", i), "8");
  lab.run(2min);
  ASSERT_EQ(s.running().size(), 0U);
  const auto before = lab.writes();
  lab.run(1h);
  EXPECT_EQ(lab.writes(), before) << "nobody writes while nothing happens";
  s.erase_pod(lab.get(kube::kPod, {"default", "all"}));
  lab.run(10s);
  ASSERT_THAT(s.running(), ElementsAre("a"));
  s.end(s.pods("a").front(), 1);
  lab.run(3s);  // the Job controller takes a second
  EXPECT_EQ(s.phase("a"), "Failed");
}

TEST_F(Scavenger, R40_AMissingReferenceFailsTheJobByName) {
  s.job("a", "1", R"("persistentVolumeClaims":[{"name":"data","mountPath":"/d"}])");
  s.job("b", "1", R"("secrets":[{"name":"key","mountPath":"/k"}])");
  s.job("c", "1", R"("configMaps":[{"name":"conf","mountPath":"/c"}])");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"lost","namespace":"default"},"spec":{}})"));
  ASSERT_TRUE(lab.patch(kube::kPersistentVolumeClaim, {"default", "lost"},
                        R"({"status":{"phase":"Lost"}})", "status"));
  s.job("d", "1", R"("persistentVolumeClaims":[{"name":"lost","mountPath":"/d"}])");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"going","namespace":"default","finalizers":["x/y"]},"spec":{}})"));
  ASSERT_TRUE(lab.erase(kube::kPersistentVolumeClaim, {"default", "going"}));
  s.job("e", "1", R"("persistentVolumeClaims":[{"name":"going","mountPath":"/d"}])");
  lab.run(1min);
  for (const auto& [name, what] :
       {std::pair{"a", "data"}, {"b", "key"}, {"c", "conf"}, {"d", "lost"}, {"e", "going"}}) {
    EXPECT_EQ(s.phase(name), "Failed") << name;
    EXPECT_THAT(s.message(name), HasSubstr(what)) << name;
    EXPECT_EQ(s.condition(name, "Complete"), "False MissingReference") << name;
    EXPECT_TRUE(time_at(s.get(name), "finishedTimestamp")) << name;
  }
  EXPECT_THAT(lab.names(kube::kJob), IsEmpty()) << "no Job was ever made";
  const auto revision = s.get("a").revision();
  lab.run(24h);
  EXPECT_EQ(s.get("a").revision(), revision) << "and none is";
}

TEST_F(Scavenger, R40_WhatIsAppliedTogetherMayComeInAnyOrder) {
  s.job("a", "1", R"("persistentVolumeClaims":[{"name":"data","mountPath":"/d"}])");
  lab.run(1s);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{}})"));
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(Scavenger, R41_WhatIsNotItsOwnWakesNobody) {
  s.job("a");
  lab.run(1min);
  const auto runs = [&] {
    return lab.metric(
        R"(berth_controller_queue_wait_seconds_count{controller="scavenger-controller"})");
  };
  const double before = runs();
  for (int i = 0; i < 10; ++i) {
    s.pod(fmt::format("p{}", i), "100m");
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"j{}","namespace":"default"}},"spec":{{"suspend":true,"selector":{{"matchLabels":{{"x":"y"}}}},"template":{{}}}}}})",
        i)));
  }
  lab.run(1min);
  EXPECT_EQ(runs(), before);
}

TEST_F(Scavenger, R45_NobodyIsTakenForAScavengerByItsLabelAlone) {
  s.job("a");
  lab.run();
  const Object job = s.get("a");
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"liar","namespace":"default","labels":{{"{}":"{}"}}}},"spec":{{"nodeName":"n1","containers":[{{"name":"main","image":"i"}}]}}}})",
      kube::kScavengerLabel, job.uid())));
  lab.run();
  s.erase_pod(lab.get(kube::kPod, {"default", "liar"}));
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.count("a"), 0);
}

TEST_F(Scavenger, R17_R27_TheIntervalAndTheAnnotationsReachTheProgram) {
  s.job("a", "1", R"("checkpoint":{"interval":"5m"},"duration":"30m")");
  lab.run();
  const Object pod = s.pods("a").at(0);
  std::map<std::string, std::string> env;
  for (const json::Slice one : pod.member("spec")["containers"][std::size_t{0}]["env"].elements())
    env[one["name"].text()] = one["value"].text();
  EXPECT_EQ(env["SJ_CHECKPOINT_INTERVAL"], "5m0s");
  EXPECT_EQ(env["SJ_ATTEMPT"], "1");
  EXPECT_EQ(env["SJ_ANNOTATIONS"], "/etc/berth/annotations");
}

TEST_F(Scavenger, LongNamesAreCutAndStayApart) {
  const std::string base(200, 'x');
  s.job(base + "a");
  s.job(base + "b");
  lab.run();
  const auto names = lab.names(kube::kJob);
  ASSERT_THAT(names, SizeIs(2));
  EXPECT_NE(names[0], names[1]);
  for (const std::string& name : names) EXPECT_LE(name.size(), 43U);
  EXPECT_EQ(attempt_of(base + "a", attempt_name(base + "a", 17)), 17);
  EXPECT_EQ(attempt_of("other", attempt_name(base + "a", 17)), std::nullopt);
}

TEST_F(Scavenger, F2_TheOtherGroupIsServedAlike) {
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"core.cerit.cz/v1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"job":{"template":{"spec":{"containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1"}}}],"restartPolicy":"Never"}}}}})"));
  lab.run(3min);
  const Object job = lab.get(kube::cerit_kinds().job, {"default", "a"});
  EXPECT_EQ(kube::ScavengerJobView(job).phase(), "Running");
  const auto pods = lab.list(kube::kPod);
  ASSERT_THAT(pods, SizeIs(1));
  s.erase_pod(pods.front());
  lab.run(20s);
  EXPECT_EQ(kube::ScavengerJobView(lab.get(kube::cerit_kinds().job, {"default", "a"})).phase(),
            "Interrupted");
}

}  // namespace
}  // namespace berth::controllers::stories
