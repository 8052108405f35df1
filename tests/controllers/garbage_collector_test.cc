// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using kube::Propagation;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const std::vector<KindId> kKinds = {
    kube::kPod,        kube::kSecret,    kube::kConfigMap, kube::kReplicaSet,
    kube::kDeployment, kube::kNamespace, kube::kNode,      kube::kCustomResourceDefinition,
    kube::kEvent};

Controllers collector() {
  return [] { return *make_controllers({"garbage-collector-controller"}); };
}
Controllers workloads() {
  return [] {
    return *make_controllers(
        {"garbage-collector-controller", "replicaset-controller", "deployment-controller"});
  };
}

std::string ref(const Object& owner, bool block = true) {
  return fmt::format(
      R"({{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","blockOwnerDeletion":{}}})",
      kube::kind_of(owner.kind()).api_version(), kube::kind_of(owner.kind()).kind, owner.name(),
      owner.uid(), block);
}
Object make(Lab& lab, const std::string& kind, const std::string& name,
            const std::string& owners = "", const std::string& ns = "default") {
  const auto made = lab.create(fmt::format(
      R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}","namespace":"{}","ownerReferences":[{}]}}}})",
      kind == "Widget" ? "example.com/v1" : "v1", kind, name, ns, owners));
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(Object());
}
// c1 <- s1 <- s2, and c2 owns s1 too where told so.
void chain(Lab& lab, bool two_owners = false) {
  const Object top = make(lab, "ConfigMap", "top");
  const Object other = make(lab, "ConfigMap", "other");
  const Object middle =
      make(lab, "Secret", "middle", ref(top) + (two_owners ? "," + ref(other) : ""));
  make(lab, "Secret", "bottom", ref(middle));
}

TEST(GarbageCollectorStory, WhatBelongsToNobodyGoesOneAfterAnother) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  chain(lab);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("bottom", "middle"));
  EXPECT_EQ(lab.writes(), 0u);
  lab.erase(kube::kConfigMap, {"default", "top"}, Propagation::kBackground);
  lab.run(1s);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
  EXPECT_EQ(lab.writes(), 2u);
  EXPECT_TRUE(lab.home().idle());
}

TEST(GarbageCollectorStory, AnOwnerInTheForegroundGoesLast) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  chain(lab);
  ASSERT_TRUE(lab.patch(kube::kSecret, {"default", "bottom"},
                        R"({"metadata":{"finalizers":["example.com/keep"]}})"));
  lab.run(1s);
  lab.erase(kube::kConfigMap, {"default", "top"}, Propagation::kForeground);
  lab.run(10s);
  EXPECT_TRUE(lab.get(kube::kConfigMap, {"default", "top"}).deleting());
  EXPECT_THAT(lab.get(kube::kSecret, {"default", "middle"}).finalizers(),
              ElementsAre("foregroundDeletion"));
  EXPECT_TRUE(lab.get(kube::kSecret, {"default", "bottom"}).deleting());
  ASSERT_TRUE(lab.patch(kube::kSecret, {"default", "bottom"}, R"({"metadata":{"finalizers":[]}})"));
  lab.run(1s);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
  EXPECT_THAT(lab.names(kube::kConfigMap), ElementsAre("other"));
}

TEST(GarbageCollectorStory, OrphansAreSetFree) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  chain(lab);
  lab.erase(kube::kConfigMap, {"default", "top"}, Propagation::kOrphan);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kConfigMap), ElementsAre("other"));
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("bottom", "middle"));
  EXPECT_THAT(lab.get(kube::kSecret, {"default", "middle"}).owners(), IsEmpty());
}

TEST(GarbageCollectorStory, OneOwnerThatStaysIsEnough) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  chain(lab, true);
  lab.erase(kube::kConfigMap, {"default", "top"}, Propagation::kForeground);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kConfigMap), ElementsAre("other"));
  const auto owners = lab.get(kube::kSecret, {"default", "middle"}).owners();
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].name, "other");
}

TEST(GarbageCollectorStory, OwnersThatNeverWereAreLookedFor) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  const std::string nobody =
      R"({"apiVersion":"v1","kind":"ConfigMap","name":"never","uid":"no-such"})";
  make(lab, "Secret", "lost", nobody);
  make(lab, "Secret", "strange",
       R"({"apiVersion":"example.com/v9","kind":"Thing","name":"x","uid":"y"})");
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("strange")) << "its kind may come yet";
}

TEST(GarbageCollectorStory, AnOwnerOfAnotherNamespaceIsNone) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  const Object far = make(lab, "ConfigMap", "far", "", "elsewhere");
  make(lab, "Secret", "lost", ref(far));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
  EXPECT_THAT(lab.events(), Contains(StartsWith("OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, "
                                                "namespace: default, name: far")));
}

TEST(GarbageCollectorStory, CirclesInTheForegroundEnd) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  const Object one = make(lab, "Secret", "one");
  const Object two = make(lab, "Secret", "two", ref(one));
  ASSERT_TRUE(lab.patch(kube::kSecret, {"default", "one"},
                        fmt::format(R"({{"metadata":{{"ownerReferences":[{}]}}}})", ref(two))));
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("one", "two"));
  lab.erase(kube::kSecret, {"default", "one"}, Propagation::kForeground);
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
}

TEST(GarbageCollectorStory, KindsThatAppearAndVanishAreFollowed) {
  Lab lab({.controllers = collector(), .kinds = kKinds});
  const KindId widget = kube::learn_kind({"example.com", "v1", "Widget", "widgets", true});
  std::vector<KindId> more = kKinds;
  more.push_back(widget);
  lab.server.serve(more);
  const char* definition =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"}})";
  ASSERT_TRUE(lab.create(definition));
  lab.run(5s);
  const Object top = make(lab, "ConfigMap", "top");
  const Object owned = make(lab, "Widget", "owned", ref(top));
  make(lab, "Secret", "below", ref(owned));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("below"));
  lab.erase(kube::kConfigMap, {"default", "top"});
  lab.run(5s);
  EXPECT_THAT(lab.names(widget), IsEmpty());
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());

  const Object last = make(lab, "Widget", "last");
  make(lab, "Secret", "its", ref(last));
  lab.run(1s);
  lab.server.serve(kKinds);
  lab.erase(kube::kCustomResourceDefinition, {"", "widgets.example.com"});
  lab.run(10min);
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("its")) << "nobody knows what became of it";
  lab.server.serve(more);
  ASSERT_TRUE(lab.create(definition));
  lab.run(10min);
  lab.erase(widget, {"default", "last"});
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
}

TEST(GarbageCollectorStory, DeploymentsTakeTheirPodsWithThem) {
  Lab lab({.controllers = workloads(), .kinds = kKinds});
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},)"
      R"("spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main"}]}}}})"));
  lab.run(10s);
  EXPECT_EQ(lab.names(kube::kPod).size(), 3u);
  lab.erase(kube::kDeployment, {"default", "web"}, Propagation::kForeground);
  lab.run(500ms);
  EXPECT_TRUE(lab.get(kube::kDeployment, {"default", "web"}).deleting()) << "pods take their time";
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_THAT(lab.names(kube::kReplicaSet), IsEmpty());
  EXPECT_THAT(lab.names(kube::kDeployment), IsEmpty());
  EXPECT_TRUE(lab.home().idle());
}

void families(Lab& lab) {
  chain(lab);
  lab.run(30s);
  lab.erase(kube::kConfigMap, {"default", "top"}, Propagation::kForeground);
  lab.run(1min);
  const Object owner = make(lab, "ConfigMap", "owner");
  for (const char* name : {"a", "b", "c"}) make(lab, "Secret", name, ref(owner));
  const Object second = make(lab, "ConfigMap", "second");
  for (const char* name : {"d", "e"}) make(lab, "Secret", name, ref(second));
  const Object third = make(lab, "ConfigMap", "third");
  make(lab, "Secret", "f", ref(third) + "," + ref(owner));
  lab.run(1min);
  lab.erase(kube::kConfigMap, {"default", "owner"}, Propagation::kBackground);
  lab.run(1min);
  lab.erase(kube::kConfigMap, {"default", "second"}, Propagation::kOrphan);
  lab.run(1min);
}
TEST(GarbageCollectorCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({collector(), families, kKinds});
}
TEST(GarbageCollectorFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({collector(), families, kKinds});
}

}  // namespace
}  // namespace berth::controllers::stories
