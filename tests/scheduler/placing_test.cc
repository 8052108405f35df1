// SPDX-License-Identifier: Apache-2.0
// Pods that find a node, and pods that do not.
#include <cstdlib>

#include <gmock/gmock.h>

#include "lab.h"

namespace berth::scheduler::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(Placing, APodIsBoundOnceAndPeopleAreTold) {
  Lab lab;
  lab.node("n1");
  lab.pod("web");
  lab.run();
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_THAT(lab.server.binds, ElementsAre("web n1"));
  EXPECT_THAT(lab.server.patches, IsEmpty());
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("Scheduled: Successfully assigned default/web to n1"));
  EXPECT_EQ(lab.scheduler().binding(), 0u);
  EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 0u);
  EXPECT_EQ(lab.scheduler().cluster().pod_count(), 1u);
  EXPECT_EQ(
      lab.metric(
          R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"})"),
      1);
}

TEST(Placing, WhatDoesNotFitIsToldOnceAndComesBackWhenANodeIsAdded) {
  Lab lab;
  lab.node("n1", "1");
  lab.pod("big", "2");
  lab.run();
  EXPECT_THAT(lab.server.binds, IsEmpty());
  const std::vector<std::string> events = lab.server.events_of("big");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_THAT(events[0],
              StartsWith("FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu."));
  ASSERT_THAT(lab.server.patches, SizeIs(1));
  EXPECT_THAT(lab.server.patches[0],
              HasSubstr(R"("type":"PodScheduled","status":"False","reason":"Unschedulable")"));
  EXPECT_THAT(lab.server.patches[0], HasSubstr(R"("lastTransitionTime")"));

  lab.node("n2", "1");  // no help: hints know that
  lab.run(20s);
  EXPECT_THAT(lab.server.patches, SizeIs(1));
  lab.node("n3", "4");
  lab.run(20s);
  EXPECT_EQ(lab.node_of("big"), "n3");
}

TEST(Placing, AConditionIsWrittenOnlyWhenItChanges) {
  Lab lab;
  lab.node("n1", "1");
  lab.pod("big", "3");
  lab.run();
  ASSERT_THAT(lab.server.patches, SizeIs(1));
  lab.run(6min);  // the pool is flushed: tried again, same words
  EXPECT_GE(
      lab.metric(
          R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"})"),
      2);
  EXPECT_THAT(lab.server.patches, SizeIs(1));
}

TEST(Placing, WithoutNodesAPodIsTriedAgainAsAfterAnError) {
  Lab lab;
  lab.pod("web");
  lab.run();
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: no nodes available to schedule pods"));
  lab.node("n1");
  lab.run(20s);
  EXPECT_EQ(lab.node_of("web"), "n1");
}

TEST(Placing, PodsOfOtherSchedulersAreLeftAlone) {
  Lab lab;
  lab.node("n1");
  lab.pod("theirs", "1", "", "another-scheduler");
  lab.run(10s);
  EXPECT_EQ(lab.node_of("theirs"), "");
  EXPECT_THAT(lab.server.events_of("theirs"), IsEmpty());
  EXPECT_THAT(lab.server.patches, IsEmpty());
}

TEST(Placing, APodThatIsBeingDeletedIsSkippedAndItSaysSo) {
  Lab lab;
  lab.pod("web");
  lab.run();  // no node: it is in backoff
  lab.mark_deleting("web");
  lab.node("n1");
  lab.run(20s);
  EXPECT_EQ(lab.node_of("web"), "");
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("FailedScheduling: no nodes available to schedule pods",
                          "FailedScheduling: skip schedule deleting pod: default/web"));
}

TEST(Placing, ALongRefusalIsCutInTheEventAndWholeInTheCondition) {
  Lab lab;
  tester.reserve = [](const Pod&) { return Status::unschedulable(std::string(2000, 'x')); };
  lab.node("n1");
  lab.pod("web");
  lab.run();
  const std::vector<std::string> events = lab.server.events_of("web");
  ASSERT_THAT(events, SizeIs(1));
  const std::string note = events[0].substr(std::string("FailedScheduling: ").size());
  EXPECT_THAT(note, StartsWith("0/1 nodes are available: 1 xxx"));
  ASSERT_EQ(note.size(), 1024u);
  EXPECT_EQ(note.substr(1020), " ...");
  ASSERT_THAT(lab.server.patches, SizeIs(1));
  EXPECT_THAT(lab.server.patches[0], HasSubstr(std::string(2000, 'x') + "."));
}

TEST(Placing, APodThatSomebodyElseBindsWhileItWaitsLeavesTheQueue) {
  Lab lab;
  lab.node("n1", "1");
  lab.pod("big", "3");
  lab.run();
  lab.pod("big", "3", R"(,"nodeName":"n1")");
  lab.run();
  EXPECT_EQ(lab.scheduler().queue().find("default", "big"), nullptr);
  EXPECT_EQ(lab.scheduler().cluster().pod_count(), 1u);
}

TEST(Placing, WhoHasToPreemptAgainKeepsItsNomination) {
  Lab lab;
  lab.node("n1", "1");
  lab.run();
  lab.pod("low");
  lab.run();
  lab.replica.wire.delay = [](const kube::ApiRequest& request) {
    return request.verb == kube::Verb::kDelete ? 2s : 0s;
  };
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run();
  lab.pod("foreign", "1", R"(,"nodeName":"n1")");  // somebody takes what is being made free
  lab.run(2s);
  EXPECT_EQ(lab.node_of("low"), "(gone)");
  ASSERT_EQ(lab.metric("scheduler_preemption_victims_count"), 2);
  EXPECT_EQ(lab.scheduler().nominated().on("n1").size(), 1u);
  for (const std::string& patch : lab.server.patches)
    EXPECT_THAT(patch, Not(HasSubstr(R"("nominatedNodeName":null)")));
  lab.run(10s);
  EXPECT_EQ(lab.node_of("foreign"), "(gone)");
  EXPECT_EQ(lab.node_of("high"), "n1");
}

TEST(Placing, PreemptionNominatesEvictsAndThenBinds) {
  Lab lab;
  lab.node("n1", "1");
  lab.pod("low");
  lab.run();
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run(30s);
  EXPECT_EQ(lab.node_of("low"), "(gone)");
  EXPECT_EQ(lab.node_of("high"), "n1");
  ASSERT_FALSE(lab.server.patches.empty());
  bool nominated = false;
  for (const std::string& patch : lab.server.patches)
    nominated |= patch.find(R"("nominatedNodeName":"n1")") != std::string::npos;
  EXPECT_TRUE(nominated);
}

TEST(Placing, ARefusedStatusIsWrittenAgainWhenTheServerIsBusy) {
  Lab lab;
  int refused = 0;
  lab.replica.wire.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (request.subresource != "status" || refused == 2) return std::nullopt;
    ++refused;
    return Error{.reason = Reason::kInternalError, .message = "busy", .code = 500};
  };
  lab.node("n1", "1");
  lab.pod("big", "3");
  lab.run();
  EXPECT_EQ(refused, 2);
  EXPECT_THAT(lab.server.patches, SizeIs(1));
}

TEST(Placing, HowLongThingsTakeIsMeasured) {
  Lab lab;
  lab.node("n1");
  lab.pod("web");
  lab.run(3s);
  EXPECT_EQ(
      lab.metric(
          R"(scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",profile="default-scheduler",status="Success"})"),
      1);
  EXPECT_EQ(
      lab.metric(
          R"(scheduler_framework_extension_point_duration_seconds_count{extension_point="Reserve",profile="default-scheduler",status="Success"})"),
      1);
  EXPECT_EQ(lab.metric(R"(scheduler_cache_size{type="nodes"})"), 1);
  EXPECT_EQ(lab.metric(R"(scheduler_cache_size{type="pods"})"), 1);
  EXPECT_EQ(lab.metric(R"(scheduler_event_handling_duration_seconds_count{event="NodeAdd"})"), 1);
  EXPECT_EQ(
      lab.metric(R"(scheduler_event_handling_duration_seconds_count{event="AssignedPodAdd"})"), 1);
}

TEST(Placing, WhatHappensInsideADecisionIsMeasured) {
  Lab lab;
  lab.node("n1");
  lab.node("n2");
  lab.run();
  lab.pod("big", "9");
  lab.run();
  lab.pod("web-1");
  lab.pod("web-2");
  lab.pod("web-3");
  lab.run(3s);
  const auto stage = [&](const std::string& point, const std::string& status = "Success") {
    return lab.metric(fmt::format(
        R"(scheduler_framework_extension_point_duration_seconds_count{{extension_point="{}",profile="default-scheduler",status="{}"}})",
        point, status));
  };
  const auto evaluated = [&](const std::string& plugin, const std::string& point) {
    return lab.metric(fmt::format(
        R"(scheduler_plugin_evaluation_total{{extension_point="{}",plugin="{}",profile="default-scheduler"}})",
        point, plugin));
  };
  EXPECT_EQ(lab.metric("scheduler_scheduling_algorithm_duration_seconds_count"), 4);
  EXPECT_EQ(stage("PreFilter"), 4);
  EXPECT_EQ(stage("Filter"), 4);
  EXPECT_EQ(stage("PostFilter", "Unschedulable"), 1);
  EXPECT_EQ(evaluated("NodeResourcesFit", "PreFilter"), 4);
  EXPECT_EQ(evaluated("NodeResourcesFit", "Filter"), 4);
  EXPECT_EQ(evaluated("NodeResourcesFit", "Score"), 3);
  EXPECT_EQ(evaluated("NodePorts", "Filter"), 0) << "it had nothing to do";
  if (std::getenv("BERTH_DECIDE") == nullptr) {
    EXPECT_EQ(stage("Score"), 1) << "the others came from a cache";
    EXPECT_EQ(stage("PreScore"), 1);
  }
}

TEST(Placing, EachPluginIsTimedInASampleOfTheAttempts) {
  Lab lab(nullptr, [](AppOptions& options) { options.mode = DecideMode::kPlain; });
  lab.node("n1", "200");
  lab.node("n2", "200");
  lab.run();
  for (int i = 0; i < 100; ++i) lab.pod(fmt::format("p{}", i));
  lab.run(10s);
  for (const char* point : {"PreFilter", "Filter", "PreScore", "Score"}) {
    const double timed = lab.metric(fmt::format(
        R"(scheduler_plugin_execution_duration_seconds_count{{extension_point="{}",plugin="NodeResourcesFit",status="Success"}})",
        point));
    EXPECT_GT(timed, 0) << point;
    EXPECT_LT(timed, 50) << point;
  }
}

TEST(Placing, TheSizeOfTheCacheIsToldAtOnce) {
  Lab lab;
  tester.permit = [](const Pod&) { return PermitResult{Status{Code::kWait}, 5s}; };
  lab.node("n1");
  lab.pod("web");
  lab.run(10ms);
  EXPECT_EQ(lab.metric(R"(scheduler_cache_size{type="nodes"})"), 1);
  EXPECT_EQ(lab.metric(R"(scheduler_cache_size{type="assumed_pods"})"), 1);
}

}  // namespace
}  // namespace berth::scheduler::stories
