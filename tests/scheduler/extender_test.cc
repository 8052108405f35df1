// SPDX-License-Identifier: Apache-2.0
// Extenders that help, and extenders that hang, lie or vanish.
#include <gmock/gmock.h>

#include "helper.h"

namespace berth::scheduler::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Extending, KeepsNodesScoresThemAndIsAskedOnlyAboutItsPods) {
  helper.answer = [](const std::string& verb, const std::string&) {
    return verb == "filter" ? R"({"NodeNames":["n2","n3"],"FailedNodes":{"n1":"no gpu"}})"
                            : R"([{"Host":"n2","Score":1},{"Host":"n3","Score":10}])";
  };
  begin({.filter_verb = "filter", .prioritize_verb = "prioritize"});
  lab->pod("plain");
  lab->run();
  EXPECT_THAT(helper.calls, IsEmpty());
  gpu_pod("gpu");
  lab->run();
  EXPECT_THAT(helper.calls, ElementsAre("filter", "prioritize"));
  EXPECT_EQ(lab->node_of("gpu"), "n3");
  for (const char* verb : {"filter", "prioritize"})
    EXPECT_EQ(
        lab->metric(fmt::format(
            R"(berth_extender_request_duration_seconds_count{{extender="http://helper",result="success",verb="{}"}})",
            verb)),
        1);
  EXPECT_EQ(lab->metric(R"(scheduler_goroutines{operation="prioritizing_extender"})"), 0);
}

TEST_F(Extending, ARefusalEverywhereIsToldWithItsReasons) {
  helper.answer = [](const std::string&, const std::string&) {
    return R"({"NodeNames":[],"FailedNodes":{"n1":"no gpu","n2":"no gpu"},"FailedAndUnresolvableNodes":{"n3":"never"}})";
  };
  begin();
  gpu_pod("gpu");
  lab->run();
  ASSERT_FALSE(lab->server.events_of("gpu").empty());
  EXPECT_THAT(lab->server.events_of("gpu")[0],
              HasSubstr("0/3 nodes are available: 1 never, 2 no gpu."));
  EXPECT_NE(lab->scheduler().queue().find("default", "gpu"), nullptr);
}

TEST_F(Extending, ANodeThatOneRefusesDoesNotHideWhyTheOthersFailed) {
  std::string victims;
  helper.answer = [&](const std::string& verb, const std::string& body) -> std::string {
    if (verb == "preempt") {
      victims = body.substr(body.find("NodeNameToMetaVictims"));
      return "{}";
    }
    return R"({"NodeNames":[],"FailedAndUnresolvableNodes":{"n1":"no","n2":"no","n3":"no"}})";
  };
  begin({.filter_verb = "filter", .preempt_verb = "preempt"});
  for (int i = 0; i < 2; ++i) lab->pod(fmt::format("low-{}", i), "7", R"(,"priority":-1)");
  lab->run();
  lab->server.objects.set(
      kube::kPod, {"default", "gpu"},
      R"("spec":{"schedulerName":"default-scheduler","containers":[{"name":"main","resources":{"requests":{"cpu":"4","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]},"status":{"phase":"Pending"})");
  lab->run();
  EXPECT_THAT(helper.calls, Contains("preempt"));
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(victims, HasSubstr(lab->node_of(fmt::format("low-{}", i))));
}

TEST_F(Extending, OneThatHangsHoldsUpNobodyElse) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run(1s);
  for (int i = 0; i < 5; ++i) lab->pod(fmt::format("plain-{}", i));
  lab->run(1s);
  for (int i = 0; i < 5; ++i) EXPECT_NE(lab->node_of(fmt::format("plain-{}", i)), "");
  lab->run(4s);
  EXPECT_EQ(lab->node_of("gpu"), "");
  ASSERT_FALSE(lab->server.events_of("gpu").empty()) << "its time was up";
  EXPECT_THAT(lab->server.patches.at(0), HasSubstr("SchedulerError"));
}

TEST_F(Extending, WhatCannotBeReadIsAnErrorOrLeftOut) {
  for (const std::string reply : {"<html>", "{\"NodeNames\":7}", "", "{\"Error\":\"my fault\"}"}) {
    for (const bool ignorable : {false, true}) {
      helper.answer = [reply](const std::string&, const std::string&) { return reply; };
      begin({}, ignorable);
      gpu_pod("gpu");
      lab->run();
      EXPECT_EQ(lab->node_of("gpu") != "", ignorable) << reply;
      EXPECT_EQ(lab->server.events_of("gpu").at(0).substr(0, 9),
                ignorable ? "Scheduled" : "FailedSch")
          << reply;
      lab.reset();
    }
  }
}

TEST_F(Extending, MayBindAndItsFailureIsOurs) {
  int binds = 0;
  helper.answer = [&](const std::string&, const std::string&) {
    return ++binds == 1 ? R"({"Error":"not now"})" : R"({})";
  };
  begin({.bind_verb = "bind"});
  gpu_pod("gpu");
  lab->run(500ms);
  EXPECT_THAT(lab->server.events_of("gpu"), ElementsAre(HasSubstr("FailedScheduling: not now")));
  lab->run(10s);
  EXPECT_EQ(binds, 2);
  EXPECT_THAT(lab->server.binds, IsEmpty()) << "it said that it did";
  EXPECT_THAT(lab->server.events_of("gpu"), Contains(HasSubstr("Scheduled: ")));
}

TEST_F(Extending, WhoMayBeIgnoredAndCannotBindIsReplaced) {
  helper.answer = [&](const std::string&, const std::string&) { return ""; };
  begin({.bind_verb = "bind"}, true);
  gpu_pod("gpu");
  lab->run();
  EXPECT_NE(lab->node_of("gpu"), "");
}

TEST_F(Extending, APodThatIsDeletedMeanwhileIsNotPlaced) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->remove_pod("gpu");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1"]})"});
  lab->run();
  EXPECT_THAT(lab->server.binds, IsEmpty());
  EXPECT_EQ(lab->scheduler().cluster().pod_count(), 0u);
  EXPECT_THAT(lab->scheduler().queue().in_flight_pods(), IsEmpty());
}

TEST_F(Extending, APodThatSomebodyElseBindsMeanwhileIsLeftAlone) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->pod("gpu", "1", R"(,"nodeName":"n2")");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1"]})"});
  lab->run();
  EXPECT_THAT(lab->server.binds, IsEmpty());
  EXPECT_EQ(lab->scheduler().cluster().pod_count(), 1u);
  EXPECT_THAT(lab->scheduler().queue().in_flight_pods(), IsEmpty());
}

TEST_F(Extending, ItsAnswerIsCheckedAgainstWhatHappenedMeanwhile) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->node("n1", "4", R"("unschedulable":true)");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1","n2"]})"});
  lab->run();
  EXPECT_EQ(lab->node_of("gpu"), "n2");
}

// Whatever one extender does, whichever verb it was asked for.
TEST_F(Extending, NothingThatOneDoesHoldsUpOtherPods) {
  const std::optional<std::string> manners[] = {std::nullopt, "<html>", "[[[", "",
                                                Helper::kEndless};
  for (const std::string misbehaves : {"filter", "prioritize", "preempt", "bind"})
    for (const auto& manner : manners) {
      SCOPED_TRACE(misbehaves + " " + manner.value_or("(hangs)"));
      helper.calls.clear();
      helper.answer = [&](const std::string& verb,
                          const std::string&) -> std::optional<std::string> {
        if (verb == misbehaves) return manner;
        if (verb == "filter") return R"({"NodeNames":["n1","n2","n3"]})";
        return verb == "prioritize" ? "[]" : "{}";
      };
      begin({.filter_verb = "filter",
             .preempt_verb = "preempt",
             .prioritize_verb = "prioritize",
             .bind_verb = "bind"});
      if (misbehaves == "preempt")
        for (int i = 0; i < 3; ++i)  // a plain pod in the way on each node
          lab->pod(fmt::format("low-{}", i), "7", R"(,"priority":-1)");
      lab->run(100ms);
      if (misbehaves == "preempt")
        lab->server.objects.set(
            kube::kPod, {"default", "gpu"},
            R"("spec":{"schedulerName":"default-scheduler","containers":[{"name":"main","resources":{"requests":{"cpu":"4","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]},"status":{"phase":"Pending"})");
      else
        gpu_pod("gpu");
      lab->run(100ms);
      EXPECT_THAT(helper.calls, Contains(misbehaves));
      for (int i = 0; i < 3; ++i) lab->pod(fmt::format("plain-{}", i), "500m");
      lab->run(100ms);
      for (int i = 0; i < 3; ++i) EXPECT_NE(lab->node_of(fmt::format("plain-{}", i)), "");
      lab->run(6s);  // the longest that a call may take
      if (misbehaves != "prioritize") {
        ASSERT_FALSE(lab->server.events_of("gpu").empty());
        EXPECT_THAT(lab->server.events_of("gpu")[0], HasSubstr("FailedScheduling"));
      }
      helper.hanging.clear();
      lab.reset();
    }
}

}  // namespace
}  // namespace berth::scheduler::stories
