// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/node_lifecycle/health.h"
#include "controllers/node_lifecycle/heartbeats.h"
#include "controllers/node_lifecycle/zones.h"
#include "controllers/nodes.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

WallTime at(const char* time) {
  return *kube::parse_time(std::string("2026-01-01T00:") + time + "Z");
}

TEST(Pulse, CountsByTheNodesOwnClockFromTheFirstLook) {
  Pulse pulse;
  // The node's clock is five minutes late.
  EXPECT_EQ(pulse.listen(at("05:00"), {}, at("00:00"), at("10:00")), at("10:00"));
  EXPECT_EQ(pulse.listen(at("05:30"), {}, at("00:00"), at("10:45")), at("10:30"));
  EXPECT_EQ(pulse.listen(at("05:30"), {}, at("00:00"), at("11:45")), at("10:30"));
  EXPECT_EQ(pulse.listen(at("05:30"), at("06:00"), at("00:00"), at("11:45")), at("11:45"))
      << "a status that was not seen before";
  EXPECT_EQ(pulse.listen(at("01:00"), at("06:00"), at("00:00"), at("12:00")), at("12:00"))
      << "its clock was put back";
  EXPECT_EQ(pulse.listen(at("59:00"), at("06:00"), at("00:00"), at("12:10")), at("12:10"))
      << "or far ahead";
  EXPECT_EQ(Pulse().listen({}, {}, at("00:07"), at("12:10")), at("00:07"));
}

TEST(Pulse, IsRememberedAsText) {
  Pulse pulse{"uid-1"};
  pulse.listen(at("05:00"), at("04:00"), {}, at("10:00"));
  EXPECT_EQ(Pulse::parse(pulse.text()), pulse);
  EXPECT_EQ(Pulse::parse(""), Pulse{});
}

TEST(Zones, AreJudgedByHowManyOfTheirNodesAreReady) {
  EXPECT_EQ(zone_state(3, 0), ZoneState::kNormal);
  EXPECT_EQ(zone_state(0, 1), ZoneState::kFullDisruption);
  EXPECT_EQ(zone_state(1, 2), ZoneState::kNormal) << "two are never too many";
  EXPECT_EQ(zone_state(2, 3), ZoneState::kPartialDisruption);
  EXPECT_EQ(zone_state(9, 11), ZoneState::kPartialDisruption);
  EXPECT_EQ(zone_state(10, 11), ZoneState::kNormal);
  EXPECT_EQ(taint_interval(ZoneState::kNormal, 10), Duration(10s));
  EXPECT_EQ(taint_interval(ZoneState::kFullDisruption, 10), Duration(10s));
  EXPECT_EQ(taint_interval(ZoneState::kPartialDisruption, 51), Duration(100s));
  EXPECT_EQ(taint_interval(ZoneState::kPartialDisruption, 50), std::nullopt);
}

kube::Object node(const std::string& name, const char* ready, const char* zone = "",
                  const std::string& spec = "") {
  return *kube::Object::parse(
      kube::kNode,
      fmt::format(
          R"({{"metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"5","labels":{{"topology.kubernetes.io/zone":"{2}"}}}},"spec":{{{3}}},)"
          R"("status":{{"conditions":[{{"type":"Ready","status":"{1}","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}})",
          name, ready, zone, spec));
}
struct Cluster {
  std::vector<kube::Object> nodes;
  Turns turns = {};
  Verdict judge(WallTime now) {
    std::vector<const kube::Object*> all;
    for (const kube::Object& one : nodes) all.push_back(&one);
    return judge_zones(all, turns, now);
  }
};
constexpr const char* kTainted =
    R"("taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-01-01T00:01:00Z"}])";

TEST(Zones, GiveOneNodeUpEveryTenSeconds) {
  Cluster cluster{{node("a", "Unknown"), node("b", "False"), node("c", "True"), node("d", "True"),
                   node("e", "True")}};
  Verdict verdict = cluster.judge(at("01:00"));
  ASSERT_THAT(verdict.taint, SizeIs(1));
  EXPECT_EQ(verdict.taint[0]->name(), "a");
  EXPECT_EQ(verdict.again, at("01:10"));
  cluster.nodes[0] = node("a", "Unknown", "", kTainted);
  verdict = cluster.judge(at("01:05"));
  EXPECT_THAT(verdict.taint, IsEmpty());
  EXPECT_EQ(verdict.again, at("01:10"));
  verdict = cluster.judge(at("01:10"));
  ASSERT_THAT(verdict.taint, SizeIs(1));
  EXPECT_EQ(verdict.taint[0]->name(), "b");
}

TEST(Zones, FindTheLastTurnOnTheNodesAfterARestart) {
  Cluster cluster{{node("a", "Unknown", "", kTainted), node("b", "False"), node("c", "True"),
                   node("d", "True"), node("e", "True")}};
  EXPECT_EQ(cluster.judge(at("01:05")).again, at("01:10"));
  EXPECT_THAT(cluster.judge(at("01:11")).taint, SizeIs(1));
}

TEST(Zones, WaitForNodesThatFailTogether) {
  Cluster cluster{{node("a", "Unknown"), node("b", "True"), node("c", "True")}};
  EXPECT_THAT(cluster.judge(at("00:00")).taint, IsEmpty());
  EXPECT_EQ(cluster.judge(at("00:00")).again, at("00:01"));
}

TEST(Zones, AreNotEmptiedWhileMostOfASmallOneHasFailed) {
  Cluster cluster{{node("a", "Unknown", "z"), node("b", "Unknown", "z"), node("c", "Unknown", "z"),
                   node("d", "True", "z")}};
  EXPECT_THAT(cluster.judge(at("05:00")).taint, IsEmpty());
  EXPECT_FALSE(cluster.judge(at("05:00")).again) << "nothing changes with time";
  cluster.nodes[1] = node("b", "True", "z");
  EXPECT_THAT(cluster.judge(at("06:00")).taint, IsEmpty()) << "it starts with a whole interval";
  EXPECT_THAT(cluster.judge(at("06:10")).taint, SizeIs(1));
}

TEST(Zones, AreEmptiedWhereOnlyOneHasFailedButNotAllOfThem) {
  Cluster cluster{{node("a", "Unknown", "z"), node("b", "True", "y")}};
  EXPECT_THAT(cluster.judge(at("05:00")).taint, SizeIs(1));
  cluster.nodes = {node("a", "Unknown", "z", kTainted), node("b", "Unknown", "y")};
  const Verdict verdict = cluster.judge(at("05:01"));
  EXPECT_THAT(verdict.taint, IsEmpty());
  ASSERT_THAT(verdict.clear, SizeIs(1)) << "we are cut off, not they";
  EXPECT_EQ(verdict.clear[0]->name(), "a");
}

class Silent final : public Heartbeats {
 public:
  std::optional<WallTime> silent_since(const std::string&) const override { return since; }
  void subscribe(std::function<void(const std::string&)>) override {}
  std::optional<WallTime> since;
};

class NodeLifecycleTable : public testing::Test {
 protected:
  std::string plan(WallTime now) {
    runtime::Plan made = objects.reconcile({"", "n"}, now);
    objects.memory.remembered = made.remembered();
    return made.text();
  }
  void add(const std::string& conditions, const std::string& spec = "",
           const std::string& labels = "") {
    objects.add(
        kube::kNode,
        fmt::format(
            R"({{"metadata":{{"name":"n","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{{}}}}},"spec":{{{}}},"status":{{"conditions":[{}]}}}})",
            labels, spec, conditions));
  }
  static std::string condition(const char* type, const char* status) {
    return fmt::format(
        R"({{"type":"{}","status":"{}","lastTransitionTime":"2026-01-01T00:00:00Z"}})", type,
        status);
  }

  Silent heartbeats;
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"node-lifecycle-controller"}, {.heartbeats = &heartbeats});
  runtime::Objects objects{*controllers[0]};
};

TEST_F(NodeLifecycleTable, GreetsANodeOnceAndTakesLeave) {
  add(condition("Ready", "True"));
  EXPECT_EQ(plan(at("01:00")),
            "event RegisteredNode: Node n event: Registered Node n in Controller\n");
  EXPECT_EQ(plan(at("01:00")), "");
  objects.remove(kube::kNode, {"", "n"});
  EXPECT_EQ(plan(at("01:00")),
            "event RemovingNode: Node n event: Removing Node n from Controller\n");
  EXPECT_EQ(plan(at("01:00")), "");
}

TEST_F(NodeLifecycleTable, SaysThatNobodyKnowsAfterFiftySeconds) {
  add(condition("Ready", "True") + "," + condition("MemoryPressure", "False"));
  plan(at("00:00"));
  heartbeats.since = at("01:00");
  EXPECT_EQ(plan(at("01:49")), "again at 2026-01-01T00:01:50Z\n");
  const std::string text = plan(at("01:50"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"({"type":"Ready","status":"Unknown","lastTransitionTime":"2026-01-01T00:01:50Z","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status."})"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"({"type":"DiskPressure","status":"Unknown","lastTransitionTime":"2026-01-01T00:01:50Z","reason":"NodeStatusNeverUpdated","message":"Kubelet never posted node status.","lastHeartbeatTime":"2026-01-01T00:00:00Z"})"));
  EXPECT_THAT(text, HasSubstr("event NodeNotReady: Node n status is now: NodeNotReady"));
}

TEST_F(NodeLifecycleTable, GivesANodeThatNeverSpokeAMinute) {
  add("");
  plan(at("00:00"));
  heartbeats.since = at("00:00");
  EXPECT_EQ(plan(at("00:55")), "again at 2026-01-01T00:01:00Z\n");
  EXPECT_THAT(plan(at("01:00")), HasSubstr("NodeStatusNeverUpdated"));
}

TEST_F(NodeLifecycleTable, KeepsNewPodsAwayByWhatTheConditionsSay) {
  add(condition("Ready", "False") + "," + condition("DiskPressure", "True"),
      R"("unschedulable":true,"taints":[{"key":"mine","effect":"NoSchedule"},{"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule"}])");
  plan(at("00:00"));
  EXPECT_EQ(
      plan(at("01:00")),
      R"(patch nodes n: {"spec":{"taints":[{"key":"mine","effect":"NoSchedule"},)"
      R"({"key":"node.kubernetes.io/not-ready","effect":"NoSchedule","timeAdded":"2026-01-01T00:01:00Z"},)"
      R"({"key":"node.kubernetes.io/disk-pressure","effect":"NoSchedule","timeAdded":"2026-01-01T00:01:00Z"},)"
      R"({"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule","timeAdded":"2026-01-01T00:01:00Z"}]}})"
      "\n");
}

TEST_F(NodeLifecycleTable, TaintsThatRemovePodsFollowTheNode) {
  const std::string tainted =
      R"("taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"},{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])";
  add(condition("Ready", "False"), tainted);
  plan(at("00:00"));
  EXPECT_EQ(
      plan(at("01:00")),
      R"(patch nodes n: {"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},)"
      R"({"key":"node.kubernetes.io/not-ready","effect":"NoExecute","timeAdded":"2026-01-01T00:01:00Z"}]}})"
      "\n");
  add(condition("Ready", "True"), tainted);
  EXPECT_EQ(plan(at("01:00")), "patch nodes n: {\"spec\":{\"taints\":null}}\n");
}

TEST_F(NodeLifecycleTable, RepeatsLabelsUnderTheirOldNames) {
  add(condition("Ready", "True"), "",
      R"("kubernetes.io/os":"linux","kubernetes.io/arch":"arm64","beta.kubernetes.io/arch":"amd64")");
  plan(at("00:00"));
  EXPECT_EQ(
      plan(at("01:00")),
      R"(patch nodes n: {"metadata":{"labels":{"beta.kubernetes.io/os":"linux","beta.kubernetes.io/arch":"arm64"}}})"
      "\n");
}

TEST_F(NodeLifecycleTable, PodsOfASilentNodeAreNotReady) {
  add(condition("Ready", "Unknown"),
      R"("taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoSchedule"}])");
  plan(at("00:00"));
  const auto pod = [&](const char* name, const char* status, const char* since) {
    objects.add(
        kube::kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"a"}},"spec":{{"nodeName":"n"}},"status":{{"conditions":[{{"type":"Ready","status":"{}","lastTransitionTime":"{}"}}]}}}})",
            name, status, since));
  };
  pod("ready", "True", "2025-12-31T23:00:00Z");
  pod("not", "False", "2025-12-31T23:00:00Z");
  pod("heard-since", "True", "2026-01-01T00:00:30Z");
  EXPECT_EQ(
      plan(at("01:00")),
      R"(patch pods a/ready/status: {"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:01:00Z"}]}})"
      "\nevent NodeNotReady: Node is not ready\n");
}

}  // namespace
}  // namespace berth::controllers
