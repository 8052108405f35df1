// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

const Key kAgent{"default", "agent"};

Controllers daemons() {
  return [] { return *make_controllers({"daemonset-controller"}); };
}
void node(Lab& lab, const std::string& name) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}},"spec":{{}}}})", name)));
}
void daemon_set(Lab& lab, const std::string& rolling = R"("maxUnavailable":1)") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"agent","namespace":"default"}},)"
      R"("spec":{{"selector":{{"matchLabels":{{"app":"agent"}}}},"updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{{}}}}},"template":{{"metadata":{{"labels":{{"app":"agent"}}}},"spec":{{"containers":[{{"name":"main","image":"v1"}}]}}}}}}}})",
      rolling)));
}
void image(Lab& lab, const char* name) {
  ASSERT_TRUE(lab.patch(
      kube::kDaemonSet, kAgent,
      fmt::format(
          R"({{"spec":{{"template":{{"spec":{{"containers":[{{"name":"main","image":"{}"}}]}}}}}}}})",
          name)));
}
std::int64_t number(Lab& lab, const char* field) {
  return lab.get(kube::kDaemonSet, kAgent).status()[field].integer().value_or(0);
}
std::vector<std::string> where(Lab& lab) {
  std::vector<std::string> out;
  for (const Object& pod : lab.list(kube::kPod))
    out.push_back(pod.member("spec")["nodeName"].text() + " " +
                  pod.member("spec")["containers"][0]["image"].text());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(DaemonSetStory, FollowsTheNodes) {
  Lab lab({.controllers = daemons()});
  node(lab, "n1");
  daemon_set(lab);
  lab.run(5s);
  EXPECT_THAT(where(lab), ElementsAre("n1 v1"));
  node(lab, "n2");
  node(lab, "n3");
  lab.run(5s);
  EXPECT_THAT(where(lab), ElementsAre("n1 v1", "n2 v1", "n3 v1"));
  EXPECT_EQ(number(lab, "desiredNumberScheduled"), 3);
  EXPECT_EQ(number(lab, "numberAvailable"), 3);
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "n2"},
                        R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})"));
  lab.run(5s);
  EXPECT_THAT(where(lab), SizeIs(3)) << "who is there may stay";
  EXPECT_EQ(number(lab, "numberMisscheduled"), 1);
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "n2"},
                        R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})"));
  lab.run(5s);
  EXPECT_THAT(where(lab), ElementsAre("n1 v1", "n3 v1"));
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "n2"}, R"({"spec":{"taints":null}})"));
  lab.run(5s);
  EXPECT_THAT(where(lab), SizeIs(3));
  EXPECT_TRUE(lab.home().idle());
}

TEST(DaemonSetStory, RollsOutAndBack) {
  Lab lab({.controllers = daemons()});
  for (const char* name : {"n1", "n2", "n3"}) node(lab, name);
  daemon_set(lab);
  lab.run(10s);
  image(lab, "v2");
  lab.run(500ms);
  int going = 0;
  for (const Object& pod : lab.list(kube::kPod)) going += pod.deleting() ? 1 : 0;
  EXPECT_EQ(going, 1);
  lab.run(1min);
  EXPECT_THAT(where(lab), ElementsAre("n1 v2", "n2 v2", "n3 v2"));
  EXPECT_EQ(number(lab, "updatedNumberScheduled"), 3);
  image(lab, "v1");
  lab.run(1min);
  EXPECT_THAT(where(lab), ElementsAre("n1 v1", "n2 v1", "n3 v1"));
  EXPECT_THAT(lab.names(kube::kControllerRevision), SizeIs(2));
}

TEST(DaemonSetStory, SurgesWithoutEverBeingDown) {
  Lab lab({.controllers = daemons()});
  for (const char* name : {"n1", "n2", "n3"}) node(lab, name);
  daemon_set(lab, R"("maxUnavailable":0,"maxSurge":1)");
  lab.run(10s);
  image(lab, "v2");
  for (int i = 0; i < 200; ++i) {
    lab.run(100ms);
    EXPECT_EQ(number(lab, "numberReady"), 3);
  }
  lab.run(1min);
  EXPECT_THAT(where(lab), ElementsAre("n1 v2", "n2 v2", "n3 v2"));
}

TEST(DaemonSetStory, ADaemonThatFailsComesBackEverMoreSlowly) {
  Lab lab({.controllers = daemons()});
  node(lab, "n1");
  lab.life = [](const Object&) { return PodLife{.start = 100ms, .run = 100ms, .fails = true}; };
  daemon_set(lab);
  lab.run(1min);
  int deleted = 0;
  for (const std::string& event : lab.events()) deleted += event.starts_with("FailedDaemonPod");
  EXPECT_GE(deleted, 5);
  EXPECT_LE(deleted, 8) << "1, 2, 4, 8, 16 and 32 s in between";
}

void a_life(Lab& lab) {
  for (const char* name : {"n1", "n2"}) node(lab, name);
  daemon_set(lab);
  lab.run(10min);
  image(lab, "v2");
  lab.run(10min);
  node(lab, "n3");
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "n1"},
                        R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})"));
  lab.run(10min);
  image(lab, "v1");
  lab.run(10min);
}
TEST(DaemonSetCrashSweep, EndsTheSameWhereverItIsKilled) { crash_sweep({daemons(), a_life}); }
TEST(DaemonSetFaultSweep, EndsTheSameWhateverTheWireDoes) { fault_sweep({daemons(), a_life}); }

}  // namespace
}  // namespace berth::controllers::stories
