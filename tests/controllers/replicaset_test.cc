// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const Key kWeb{"default", "web"};

Controllers replicasets() {
  return [] { return *make_controllers({"replicaset-controller"}); };
}
void replica_set(Lab& lab, int replicas) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"web","namespace":"default"}},)"
      R"("spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main","image":"web"}}]}}}}}}}})",
      replicas)));
}
void scale(Lab& lab, int replicas) {
  ASSERT_TRUE(
      lab.patch(kube::kReplicaSet, kWeb, fmt::format(R"({{"spec":{{"replicas":{}}}}})", replicas)));
}
std::int64_t status(Lab& lab, const char* field) {
  return lab.get(kube::kReplicaSet, kWeb).status()[field].integer().value_or(0);
}

TEST(ReplicaSetStory, PodsAreMadeCountedReplacedAndRemoved) {
  Lab lab({.controllers = replicasets()});
  replica_set(lab, 3);
  lab.run(500ms);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3));
  EXPECT_EQ(status(lab, "replicas"), 3);
  EXPECT_EQ(status(lab, "readyReplicas"), 0);
  lab.run(5s);
  EXPECT_EQ(status(lab, "availableReplicas"), 3);
  EXPECT_EQ(status(lab, "observedGeneration"), 1);

  const std::string victim = lab.names(kube::kPod)[1];
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", victim}));
  lab.run(500ms);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(4)) << "one on its way out, one new";
  EXPECT_EQ(status(lab, "terminatingReplicas"), 1);
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3));
  EXPECT_THAT(lab.names(kube::kPod), testing::Not(Contains(victim))) << "a new pod, a new name";
  EXPECT_EQ(status(lab, "terminatingReplicas"), 0);

  scale(lab, 1);
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
  EXPECT_EQ(status(lab, "replicas"), 1);
  scale(lab, 0);
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_THAT(lab.events(), Contains(StartsWith("SuccessfulCreate: Created pod: web-")).Times(4));
  EXPECT_THAT(lab.events(), Contains(StartsWith("SuccessfulDelete: Deleted pod: web-")).Times(3));
  EXPECT_TRUE(lab.home().idle());
}

TEST(ReplicaSetStory, StraysAreTakenInAndThoseThatLeftAreReplaced) {
  Lab lab({.controllers = replicasets()});
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"stray","namespace":"default","labels":{"app":"web"}},"spec":{"containers":[{"name":"main"}]}})"));
  replica_set(lab, 2);
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  EXPECT_EQ(lab.get(kube::kPod, {"default", "stray"}).controller()->name, "web");
  // Someone takes the stray out for a closer look.
  ASSERT_TRUE(
      lab.patch(kube::kPod, {"default", "stray"}, R"({"metadata":{"labels":{"app":"debug"}}})"));
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3));
  EXPECT_FALSE(lab.get(kube::kPod, {"default", "stray"}).controller());
  // And puts it back.
  ASSERT_TRUE(
      lab.patch(kube::kPod, {"default", "stray"}, R"({"metadata":{"labels":{"app":"web"}}})"));
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  EXPECT_EQ(status(lab, "replicas"), 2);
}

TEST(ReplicaSetStory, PodsThatEndAreReplacedAndKept) {
  Lab lab({.controllers = replicasets()});
  bool first = true;
  std::string doomed;
  lab.life = [&](const Object& pod) {
    if (std::exchange(first, false)) doomed = pod.name();
    return PodLife{.run = pod.name() == doomed ? std::optional<Duration>(2s) : std::nullopt,
                   .fails = true};
  };
  replica_set(lab, 1);
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  EXPECT_EQ(status(lab, "replicas"), 1);
}

TEST(ReplicaSetStory, SaysWhyPodsAreMissingUntilTheyAreNot) {
  Lab lab({.controllers = replicasets()});
  lab.wire().set({.refuse = 1});
  replica_set(lab, 2);
  lab.run(30s);
  lab.wire().set({});
  lab.run(10min);
  EXPECT_EQ(status(lab, "availableReplicas"), 2);
  EXPECT_FALSE(lab.get(kube::kReplicaSet, kWeb).status()["conditions"].present());
}

void up_and_down(Lab& lab) {
  replica_set(lab, 4);
  lab.run(1min);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"stray","namespace":"default","labels":{"app":"web"}},"spec":{"containers":[{"name":"main"}]}})"));
  lab.run(1min);
  scale(lab, 2);
  lab.run(1min);
  if (lab.get(kube::kPod, {"default", "stray"}).valid())
    lab.erase(kube::kPod, {"default", "stray"});
  lab.run(1min);
  scale(lab, 5);
  lab.run(1min);
}
TEST(ReplicaSetCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({replicasets(), up_and_down});
}
TEST(ReplicaSetFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({replicasets(), up_and_down});
}

// The forerunner: the same code, another form of selector.
Controllers replication_controllers() {
  return [] { return *make_controllers({"replicationcontroller-controller"}); };
}
void older_up_and_down(Lab& lab) {
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"web","namespace":"default"},)"
      R"("spec":{"replicas":3,"selector":{"app":"web"},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"web"}]}}}})"));
  lab.run(1min);
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"stray","namespace":"default","labels":{"app":"web"}},"spec":{"containers":[{"name":"main"}]}})"));
  lab.run(1min);
  ASSERT_TRUE(lab.patch(kube::kReplicationController, kWeb, R"({"spec":{"replicas":2}})"));
  lab.run(1min);
}
TEST(ReplicationControllerStory, PodsAreMadeAdoptedCountedAndRemoved) {
  Lab lab({.controllers = replication_controllers()});
  older_up_and_down(lab);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  const Object web = lab.get(kube::kReplicationController, kWeb);
  EXPECT_EQ(web.status()["availableReplicas"].integer(), 2);
  EXPECT_EQ(web.status()["observedGeneration"].integer(), web.generation());
  EXPECT_FALSE(web.status()["terminatingReplicas"].present());
  EXPECT_EQ(lab.get(kube::kPod, {"default", lab.names(kube::kPod)[0]}).controller()->kind,
            "ReplicationController");
  EXPECT_THAT(lab.events(), Contains(StartsWith("SuccessfulCreate: Created pod: web-")).Times(3));
}
TEST(ReplicationControllerCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({replication_controllers(), older_up_and_down});
}

}  // namespace
}  // namespace berth::controllers::stories
