// SPDX-License-Identifier: Apache-2.0
// Pods that are asked to wait before they are bound.
#include <gmock/gmock.h>

#include "lab.h"

namespace berth::scheduler::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PermitResult wait_for(Duration timeout) { return {Status{Code::kWait}, timeout}; }

// "web" waits, all others are let through.
void let_web_wait(Tester& plugin, Duration timeout = 60s) {
  plugin.permit = [timeout](const Pod& pod) {
    return pod.name == "web" ? wait_for(timeout) : PermitResult{};
  };
}

std::string uid_of(Lab& lab, const std::string& pod) {
  return std::string(lab.server.pod(pod).uid());
}

TEST(WaitingForPermission, HoldsItsPlaceTellsItsNodeAndIsBoundOnceAllowed) {
  Lab lab;
  let_web_wait(tester);
  lab.node("n1", "2");
  lab.pod("web");
  lab.run(10s);
  EXPECT_EQ(lab.node_of("web"), "");
  ASSERT_THAT(lab.server.patches, SizeIs(1));
  EXPECT_THAT(lab.server.patches[0], HasSubstr(R"("nominatedNodeName":"n1")"));
  lab.pod("other");
  lab.pod("third");
  lab.run(10s);
  EXPECT_EQ(lab.node_of("other"), "n1") << "others go on meanwhile";
  EXPECT_EQ(lab.node_of("third"), "") << "the waiting pod's place is taken";

  WaitingPod* const waiting = tester.services->waiting(uid_of(lab, "web"));
  ASSERT_NE(waiting, nullptr);
  EXPECT_THAT(waiting->pending(), ElementsAre(tester.id));
  waiting->allow(tester.id);
  lab.run();
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_EQ(tester.services->waiting(uid_of(lab, "web")), nullptr);
  EXPECT_EQ(lab.metric(R"(scheduler_permit_wait_duration_seconds_count{result="Success"})"), 1);
}

TEST(WaitingForPermission, ARefusalFreesThePlaceAndNamesThePlugin) {
  Lab lab;
  int undone = 0;
  let_web_wait(tester);
  tester.unreserve = [&](const Pod&) { ++undone; };
  lab.node("n1", "1");
  lab.pod("web");
  lab.run();
  lab.pod("other");
  lab.run(5s);
  EXPECT_EQ(lab.node_of("other"), "");
  tester.services->waiting(uid_of(lab, "web"))->reject(tester.id, "not today");
  lab.run(20s);
  EXPECT_EQ(undone, 1);
  EXPECT_EQ(lab.node_of("other"), "n1") << "what was freed woke it";
  EXPECT_THAT(lab.server.events_of("web"),
              Contains("FailedScheduling: 0/1 nodes are available: 1 not today."));
  const QueuedPod* const queued = lab.scheduler().queue().find("default", "web");
  ASSERT_NE(queued, nullptr);
  EXPECT_TRUE(queued->unschedulable_plugins.has(tester.id));
  // The nomination is taken back.
  EXPECT_THAT(lab.server.patches.back(), HasSubstr(R"("nominatedNodeName":null)"));
}

TEST(WaitingForPermission, TimeIsUpAfterWhatThePluginSaid) {
  Lab lab;
  let_web_wait(tester, 90s);
  lab.node("n1");
  lab.pod("web");
  lab.run(89s);
  EXPECT_THAT(lab.server.events_of("web"), IsEmpty());
  lab.run(3s);
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout "
                          "after waiting 1m30s at plugin Tester."));
}

TEST(WaitingForPermission, NobodyWaitsLongerThanAQuarterOfAnHour) {
  Lab lab;
  let_web_wait(tester, 20h);
  lab.node("n1");
  lab.pod("web");
  lab.run(15min - 1s);
  EXPECT_THAT(lab.server.events_of("web"), IsEmpty());
  lab.run(3s);
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout "
                          "after waiting 15m0s at plugin Tester."));
}

TEST(WaitingForPermission, EveryPluginThatAskedHasToAllow) {
  Lab lab;
  let_web_wait(tester);
  let_web_wait(tester2);
  lab.node("n1");
  lab.pod("web");
  lab.run();
  const std::string uid = uid_of(lab, "web");
  tester.services->waiting(uid)->allow(tester.id);
  tester.services->waiting(uid)->allow(tester.id);
  lab.run();
  EXPECT_EQ(lab.node_of("web"), "");
  EXPECT_THAT(tester.services->waiting(uid)->pending(), ElementsAre(tester2.id));
  tester.services->waiting(uid)->allow(tester2.id);
  lab.run();
  EXPECT_EQ(lab.node_of("web"), "n1");
}

TEST(WaitingForPermission, APodDeletedMeanwhileFreesItsPlace) {
  Lab lab;
  let_web_wait(tester);
  lab.node("n1", "1");
  lab.pod("web");
  lab.run();
  lab.pod("other");
  lab.run(3s);
  lab.remove_pod("web");
  lab.run(20s);
  EXPECT_EQ(lab.node_of("other"), "n1");
  EXPECT_EQ(lab.scheduler().binding(), 0u);
  EXPECT_EQ(lab.scheduler().queue().find("default", "web"), nullptr);
  EXPECT_THAT(lab.server.binds, ElementsAre("other n1"));
}

TEST(WaitingForPermission, PreemptionEndsItAsAnErrorWithoutDeletingThePod) {
  Lab lab;
  tester.permit = [first = true](const Pod& pod) mutable {
    if (pod.name != "web" || !first) return PermitResult{};
    first = false;
    return wait_for(60s);
  };
  lab.node("n1", "1");
  lab.pod("web");
  lab.run();
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run(30s);
  EXPECT_EQ(lab.node_of("high"), "n1");
  EXPECT_EQ(lab.node_of("web"), "") << "still there, not placed";
  EXPECT_THAT(lab.server.events_of("web"),
              Contains("FailedScheduling: waiting on permit for pod: preempted"));
}

TEST(WaitingForPermission, APluginMayRefuseAtOnce) {
  Lab lab;
  tester.permit = [](const Pod&) { return PermitResult{Status::unschedulable("full moon")}; };
  tester2.permit = [](const Pod&) {
    ADD_FAILURE() << "not asked any more";
    return PermitResult{};
  };
  lab.node("n1");
  lab.pod("web");
  lab.run();
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: 0/1 nodes are available: 1 full moon."));
  EXPECT_EQ(lab.scheduler().cluster().pod_count(), 0u);
}

TEST(WaitingForPermission, APluginThatBreaksIsAnError) {
  Lab lab;
  tester.permit = [](const Pod&) { return PermitResult{Status::error("no idea")}; };
  lab.node("n1");
  lab.pod("web");
  lab.run();
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: running Permit plugin \"Tester\": no idea"));
  EXPECT_THAT(lab.server.patches[0], HasSubstr(R"("reason":"SchedulerError")"));
}

}  // namespace
}  // namespace berth::scheduler::stories
