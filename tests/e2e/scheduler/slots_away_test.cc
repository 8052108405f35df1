// SPDX-License-Identifier: Apache-2.0
// Rows of the external-scheduler interface about those who are somewhere else: pods that vanish,
// controllers that die, a Testbed that says nothing or idles, another Testbed, another scheduler.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "slots_rows.h"

namespace berth::e2e {
namespace {

using kube::Object;
using testing::ElementsAre;
using testing::SizeIs;

TEST_P(RealSlots, ESI_028_APromiseToAPodThatVanishedIsDropped) {
  hold();
  stage().create(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"never"},"provisioner":"example.com/nobody","volumeBindingMode":"WaitForFirstConsumer"})");
  stage().create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"never","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"never","resources":{"requests":{"storage":"1Gi"}}}})");
  stage().job("a", "");
  stage().patch(slot_kinds().batch_job, "a", R"({"spec":{"jobSpec":{"suspend":true}}})");
  stage().queue("s", "a");
  // Its volume never comes, so that it is promised the slot and not bound.
  stage().executor("first", "a",
                   R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"never"}}])");
  const std::string selected = "volume.kubernetes.io/selected-node";
  stage().until("its node is chosen", [&] {
    return stage().get(kube::kPersistentVolumeClaim, "never").annotation(selected) == "node-0";
  });
  const auto reserved_for = [&] {
    return stage()
        .get(slot_kinds().testbed, "tb")
        .status()["slots"][std::size_t{0}]["reservedFor"]
        .text();
  };
  if (GetParam() != SlotsDoor::kPlugin)
    stage().until("the slot is promised to it", [&] { return reserved_for() == "first"; });
  EXPECT_EQ(stage().get(kube::kPod, "first").member("spec")["nodeName"].text(), "");
  stage().erase(kube::kPod, "first");
  stage().until("the promise is dropped", [&] { return reserved_for() == "a"; });
  stage().executor("second", "a");
  stage().until("another has the slot", [&] {
    return stage().placement() == std::multiset<std::string>{": slot 0 on node-0"};
  });
}

TEST_P(RealSlots, ESI_029_TwoTestbedsRunTheirSchedulingsBesideEachOther) {
  stage().patch(kube::kNode, "node-2",
                R"({"metadata":{"labels":{"tuberlin.de/tb":null,"example.com/other":"0"}}})");
  stage().testbed();
  stage().testbed("", 2, "750m", "other", "example.com/other");
  stage().until("both are held", [&] {
    return stage().slot_states() == "FREE FREE FREE FREE" &&
           stage().slot_states("other") == "FREE FREE";
  });
  stage().job("a");
  stage().job("b");
  stage().queue("s", "aaa");
  stage().queue("t", "bb", "other");
  const auto placed = stage().placement_of(5);
  EXPECT_THAT(placed,
              ElementsAre("a: slot 0 on node-0", "a: slot 1 on node-1", "a: slot 2 on node-0",
                          "b: slot 0 on node-2", "b: slot 1 on node-2"));
  same_by_both_doors(placed);
  stage().finish("a");
  until_state("s", "Completed");
  EXPECT_EQ(stage().slot_states("other"), "OCCUPIED OCCUPIED");
  stage().finish("b");
  until_state("t", "Completed");
}

TEST_P(RealSlots, ESI_046_WhoWasAwayFindsTheApplicationDone) {
  hold();
  stage().job("a");
  stage().queue("s", "aa");
  stage().until("its application is made", [&] { return stage().get(kube::kJob, "a").valid(); });
  stage().run_controllers(0);
  EXPECT_THAT(stage().job_state("a"), testing::AnyOf("InQueue", "Submitted"));
  same_by_both_doors(stage().placement_of(2));
  stage().finish("a");
  stage().until("the application is done",
                [&] { return stage().get(kube::kJob, "a").status()["succeeded"].integer() == 2; });
  stage().run_controllers();
  until_state("s", "Completed");
  EXPECT_THAT(stage().history("a"), ElementsAre("1 s ok"));
}

TEST_P(RealSlots, ESI_060_TheExtenderIsAskedAboutWhomItIsToldToBe) {
  if (GetParam() == SlotsDoor::kPlugin) GTEST_SKIP() << "the plugin asks no extender";
  hold();
  const std::uint64_t before = stage().filters_asked();
  stage().pod("ordinary", "1");
  stage().until("it is placed", [&] {
    return !stage().get(kube::kPod, "ordinary").member("spec")["nodeName"].text().empty();
  });
  const std::uint64_t then = stage().filters_asked();
  if (GetParam() == SlotsDoor::kExtender)
    EXPECT_GT(then, before) << "of every pod";
  else
    EXPECT_EQ(then, before) << "of executors alone";
  stage().job("a");
  stage().queue("s", "aa");
  stage().placement_of(2);
  EXPECT_GE(stage().filters_asked(), then + 2);
}

TEST_P(RealSlots, ESI_086_NoSlotIsGivenTwiceWhileTheTestbedSaysNothing) {
  hold(kShared);
  for (const char* job : {"a", "b", "c"}) stage().job(job);
  stage().create(
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"silent"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["batchjob.gcr.io"],"apiVersions":["*"],"operations":["UPDATE"],"resources":["testbeds/status"]}]},"validations":[{"expression":"false"}]}})");
  stage().create(
      R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"silent"},"spec":{"policyName":"silent","validationActions":["Deny"]}})");
  stage().until("what Testbeds say is refused", [&] {
    return !stage().admin().patch(slot_kinds().testbed, {"default", "tb"},
                                  R"({"status":{"state":"SUCCESS"}})", kube::PatchType::kMerge,
                                  "status");
  });
  std::multiset<std::string> shared;
  const auto placed = [&](std::size_t executors) {
    std::multiset<std::string> now;
    stage().until(fmt::format("{} executors have a node", executors), [&] {
      now = stage().placement();
      std::map<std::string, int> by_slot;
      for (const std::string& one : now)
        if (++by_slot[one.substr(one.find(": "))] > 1) shared.insert(one);
      return now.size() == executors;
    });
    return now;
  };
  stage().queue("s1", "aaa");
  until_running("a{0,1,2}");  // tickets of one second are drawn
  stage().queue("s2", "bbb");
  until_running("a{0,1,2} b{3,4,5}");
  stage().queue("s3", "c");
  same_by_both_doors(placed(6));
  EXPECT_EQ(stage().slot_states(), kAllFree) << "it knows nothing of them";
  stage().finish("a");
  until_running("b{3,4,5} c{0}");
  placed(4);
  EXPECT_THAT(shared, SizeIs(0));
  for (const char* kind :
       {"validatingadmissionpolicybinding/silent", "validatingadmissionpolicy/silent"})
    stage().kubectl({"delete", kind});
  stage().until("it says what is so", [&] {
    return stage().slot_states() == "OCCUPIED FREE FREE OCCUPIED OCCUPIED OCCUPIED";
  });
}

TEST_P(RealSlots, ESI_120_OfThreeReplicasOneLeadsAndItsDeathLosesNothing) {
  PodHistory pods(stage().admin());
  hold();
  stage().run_controllers(3);
  for (const char* job : {"a", "b"}) stage().job(job);
  stage().queue("s1", "abba");
  same_by_both_doors(stage().placement_of(4));
  stage().kill_leader();  // while they run
  stage().finish("a");
  stage().finish("b");
  until_state("s1", "Completed");
  stage().erase(slot_kinds().scheduling, "s1");
  until_state("s1", "gone");
  stage().queue("s2", "abba");
  stage().kill_leader();  // while they start
  stage().placement_of(4);
  stage().finish("a");
  stage().finish("b");
  until_state("s2", "Completed");
  std::map<std::string, int> executors;
  for (const PodHistory::Life& life : pods.lives())
    if (const std::string name = life.key.substr(life.key.find('/') + 1); name[1] == '-')
      ++executors[name.substr(0, 1)];
  for (const char* job : {"a", "b"}) {
    EXPECT_THAT(stage().history(job), ElementsAre("1 s1 ok", "2 s2 ok")) << job;
    EXPECT_EQ(executors[job], 4) << job << ": two a run, and each run once";
  }
}

TEST_P(RealSlots, ESI_129_AnIdleTestbedShrinksAndRegrowsBeforeJobsStart) {
  stage().testbed(R"(,"idlePolicy":{"after":"5s","shrinkTo":1})");
  stage().until("one slot is held", [&] {
    return stage().condition(slot_kinds().testbed, "tb", "Ready") == "True IdleShrunk" &&
           stage().ghosts(false).size() == 1;
  });
  fill();
  stage().pod("more", "750m", R"(,"nodeName":"node-1")");  // where a slot was
  stage().job("a");
  stage().queue("s", "aaaaaa");
  stage().until("it waits for the room that was lent", [&] {
    return stage().condition(slot_kinds().scheduling, "s", "Progressing") ==
           "False WaitingForCapacity";
  });
  EXPECT_EQ(stage().executors().size(), 0u);
  stage().erase(kube::kPod, "more");
  const auto placed = stage().placement_of(6);
  EXPECT_THAT(placed,
              ElementsAre("a: slot 0 on node-0", "a: slot 1 on node-1", "a: slot 2 on node-2",
                          "a: slot 3 on node-0", "a: slot 4 on node-1", "a: slot 5 on node-2"));
  same_by_both_doors(placed);
  stage().finish("a");
  until_state("s", "Completed");
}

}  // namespace
}  // namespace berth::e2e
