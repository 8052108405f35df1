// SPDX-License-Identifier: Apache-2.0
// Preemption with extenders, and preemption that others wait for.
#include <gmock/gmock.h>

#include "helper.h"

namespace berth::scheduler::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// Two nodes, each full with one pod of lower priority.
class Preempting : public testing::Test {
 protected:
  void begin(bool ignorable = false, bool caches_nodes = true) {
    lab = std::make_unique<Lab>(configured({.preempt_verb = "preempt"}, ignorable, caches_nodes),
                                [this](AppOptions& options) { options.extender = helper.maker(); });
    for (const char* name : {"n1", "n2"})
      lab->server.objects.set(
          kube::kNode, {"", name},
          R"("spec":{},"status":{"allocatable":{"cpu":"4","memory":"32Gi","pods":"110","example.com/gpu":"4"}})");
    lab->run();
    lab->pod("low-a", "4", R"(,"nodeName":"n1","priority":1)");
    lab->pod("low-b", "4", R"(,"nodeName":"n2","priority":2)");
    lab->run();
  }
  void high_pod() {
    lab->server.objects.set(
        kube::kPod, {"default", "high"},
        R"("spec":{"schedulerName":"default-scheduler","priority":100,"containers":[{"name":"main","resources":{"requests":{"cpu":"4","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]},"status":{"phase":"Pending"})");
  }
  std::string uid(const std::string& pod) { return std::string(lab->server.pod(pod).uid()); }
  std::string keep(const std::string& node, const std::string& victim) {
    return fmt::format(R"({{"NodeNameToMetaVictims":{{"{}":{{"Pods":[{{"UID":"{}"}}]}}}}}})", node,
                       victim);
  }
  std::string told(std::size_t i = 0) {
    const auto events = lab->server.events_of("high");
    return events.size() > i ? events[i] : "(nothing)";
  }
  ~Preempting() override {
    helper.hanging.clear();
    lab.reset();
  }
  Helper helper;
  std::unique_ptr<Lab> lab;
};

TEST_F(Preempting, AnExtenderTakesCandidatesAway) {
  begin();
  helper.answer = [&](const std::string&, const std::string&) { return keep("n2", uid("low-b")); };
  high_pod();
  lab->run(30s);
  EXPECT_EQ(helper.calls, std::vector<std::string>{"preempt"});
  EXPECT_THAT(helper.bodies[0], HasSubstr(R"("NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":)"));
  EXPECT_THAT(
      helper.bodies[0],
      Not(HasSubstr(R"("containers":[{"name":"main","resources":{"requests":{"cpu":"4"}}}])")));
  EXPECT_EQ(lab->node_of("low-b"), "(gone)") << "the cheaper one was taken away";
  EXPECT_EQ(lab->node_of("low-a"), "n1");
  EXPECT_EQ(lab->node_of("high"), "n2");
}

TEST_F(Preempting, OneThatKeepsNoNodesIsShownWholePods) {
  begin(false, false);
  helper.answer = [&](const std::string&, const std::string&) { return keep("n1", uid("low-a")); };
  high_pod();
  lab->run(30s);
  ASSERT_FALSE(helper.bodies.empty());
  EXPECT_THAT(helper.bodies[0], HasSubstr(R"("NodeNameToVictims":{"n1":{"Pods":[{)"));
  EXPECT_THAT(helper.bodies[0], HasSubstr(R"("nodeName":"n2")"));
  EXPECT_EQ(lab->node_of("high"), "n1");
}

TEST_F(Preempting, OnlyPodsThatAnExtenderCaresForAreShownToIt) {
  begin();
  helper.answer = [&](const std::string&, const std::string&) { return "{}"; };
  lab->pod("plain-high", "4", R"(,"priority":100)");
  lab->run(30s);
  EXPECT_THAT(helper.calls, IsEmpty());
  EXPECT_EQ(lab->node_of("plain-high"), "n1");
}

TEST_F(Preempting, WhereNoCandidateIsLeftNobodyIsEvicted) {
  begin();
  helper.answer = [&](const std::string&, const std::string&) {
    return R"({"NodeNameToMetaVictims":{}})";
  };
  high_pod();
  lab->run();
  EXPECT_THAT(told(), HasSubstr("preemption: no candidate node for preemption"));
  EXPECT_THAT(told(), HasSubstr("0/2 nodes are available: 2 Insufficient cpu."));
  EXPECT_EQ(lab->node_of("low-a"), "n1");
}

TEST_F(Preempting, WrongAnswersAreErrorsUnlessTheExtenderMayBeIgnored) {
  struct Case {
    std::string answer;
    std::string text;
  };
  const Case cases[] = {
      {R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"x"}]}}})",
       "extender: http://helper claims to preempt pod (UID: &{x}) on node: n1, but the pod is not "
       "found on that node"},
      {keep("elsewhere", "x"), "nodeinfo not found for node name \"elsewhere\""},
      {R"({"NodeNameToMetaVictims":{"n1":{"Pods":[]}}})",
       "expected at least one victim pod on node \"n1\""},
      {"garbage", "preemption: "},
      {"", "connection reset"},
  };
  for (const Case& one : cases)
    for (const bool ignorable : {false, true}) {
      SCOPED_TRACE(one.text);
      begin(ignorable);
      helper.answer = [&](const std::string&, const std::string&) { return one.answer; };
      high_pod();
      lab->run(30s);
      const bool none_left = one.text.find("expected at least") == 0;
      if (!ignorable || none_left) {
        EXPECT_THAT(told(), HasSubstr(ignorable ? "no candidate node" : one.text));
        EXPECT_EQ(lab->node_of("low-a"), "n1");
        EXPECT_EQ(lab->node_of("high"), "");
      } else {
        EXPECT_EQ(lab->node_of("high"), "n1");
      }
      lab.reset();
    }
}

TEST_F(Preempting, NobodyIsEvictedForAPodThatIsGoneMeanwhile) {
  begin();
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  high_pod();
  lab->run(100ms);
  const std::string reply = keep("n1", uid("low-a"));
  lab->remove_pod("high");
  lab->run(100ms);
  helper.hanging.front()(ExtenderReply{.body = reply});
  lab->run(10s);
  EXPECT_EQ(lab->node_of("low-a"), "n1");
  EXPECT_THAT(lab->scheduler().queue().in_flight_pods(), IsEmpty());
}

TEST_F(Preempting, VictimsThatLeftMeanwhileNeedNotBeEvicted) {
  begin();
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  high_pod();
  lab->run(100ms);
  const std::string reply = keep("n1", uid("low-a"));
  lab->remove_pod("low-a");
  lab->run(100ms);
  helper.hanging.front()(ExtenderReply{.body = reply});
  lab->run(10s);
  EXPECT_EQ(lab->node_of("high"), "n1");
  EXPECT_EQ(lab->node_of("low-b"), "n2");
}

// --- SchedulerAsyncPreemption=false ---

void synchronous(SchedulerConfig& config) { config.features.async_preemption = false; }

TEST(SynchronousPreemption, OthersWaitUntilTheVictimsWereTold) {
  for (const bool synchronously : {true, false}) {
    SCOPED_TRACE(synchronously);
    Lab lab(synchronously ? synchronous : std::function<void(SchedulerConfig&)>());
    lab.node("n1", "2");
    lab.node("n2", "2", R"("taints":[{"key":"t","effect":"NoSchedule"}])");
    lab.run();
    lab.pod("low-a");
    lab.pod("low-b");
    lab.run();
    lab.replica.wire.delay = [](const kube::ApiRequest& request) {
      return request.verb == kube::Verb::kDelete ? 2s : 0s;
    };
    lab.pod("high", "2", R"(,"priority":100)");
    lab.run(10ms);
    lab.pod("other", "1", R"(,"tolerations":[{"operator":"Exists"}])");
    lab.run(1s);
    EXPECT_EQ(lab.node_of("other"), synchronously ? "" : "n2");
    EXPECT_THAT(lab.scheduler().queue().in_flight_pods().size(), synchronously ? 1u : 0u);
    lab.run(30s);
    EXPECT_EQ(lab.node_of("other"), "n2");
    EXPECT_EQ(lab.node_of("high"), "n1");
    EXPECT_EQ(lab.node_of("low-a"), "(gone)");
    EXPECT_EQ(lab.node_of("low-b"), "(gone)");
    EXPECT_EQ(lab.metric(R"(scheduler_preemption_goroutines_execution_total{result="success"})"),
              synchronously ? 0 : 1);
    EXPECT_EQ(lab.metric("scheduler_preemption_victims_count"), 1);
    EXPECT_EQ(lab.metric("scheduler_preemption_attempts_total"), 1);
  }
}

TEST(SynchronousPreemption, AVictimThatCannotBeEvictedIsAnError) {
  Lab lab(synchronous);
  lab.node("n1", "1");
  lab.run();
  lab.pod("low");
  lab.run();
  bool refuse = true;
  lab.replica.wire.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (!refuse || request.verb != kube::Verb::kDelete) return std::nullopt;
    return Error{.reason = Reason::kForbidden, .message = "not this one", .code = 403};
  };
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run();
  ASSERT_FALSE(lab.server.events_of("high").empty());
  EXPECT_THAT(lab.server.events_of("high")[0], HasSubstr("Insufficient cpu. "));
  EXPECT_THAT(lab.server.events_of("high")[0], HasSubstr("preemption: not this one"));
  for (const std::string& patch : lab.server.patches)
    EXPECT_THAT(patch, Not(HasSubstr("nominatedNodeName")));
  refuse = false;
  lab.run(6min);  // the pool is flushed
  EXPECT_EQ(lab.node_of("high"), "n1");
}

TEST(SynchronousPreemption, StoppingInTheMiddleLeavesNothingBehind) {
  Lab lab(synchronous);
  lab.node("n1", "1");
  lab.run();
  lab.pod("low");
  lab.run();
  lab.replica.wire.fate = [](const kube::ApiRequest& request) {
    return request.verb == kube::Verb::kDelete ? Wire::Fate::kHang : Wire::Fate::kDeliver;
  };
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run();
  lab.replica.close();
  EXPECT_TRUE(lab.replica.closed);
}

}  // namespace
}  // namespace berth::scheduler::stories
