// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const Key kHome{"", "home"};

Controllers caretakers() {
  return [] {
    return *make_controllers({"namespace-controller", "serviceaccount-controller",
                              "root-ca-certificate-publisher-controller"},
                             {.root_ca = "PEM"});
  };
}
void make_namespace(Lab& lab, const std::string& name) {
  ASSERT_TRUE(lab.create(
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name)));
}
void secret(Lab& lab, const std::string& name, const std::string& metadata = "") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}","namespace":"home"{}}}}})",
      name, metadata)));
}
void pod(Lab& lab, const std::string& name) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"home"}},"spec":{{"terminationGracePeriodSeconds":30,"containers":[{{"name":"main"}}]}}}})",
      name)));
}
std::string condition(Lab& lab, const std::string& type) {
  for (const json::Slice one : lab.get(kube::kNamespace, kHome).status()["conditions"].elements())
    if (one["type"].equals(type)) return one["message"].text();
  return "";
}

TEST(NamespaceStory, GetsWhatEveryNamespaceHasAndGetsItBack) {
  Lab lab({.controllers = caretakers()});
  make_namespace(lab, "home");
  lab.run(1s);
  EXPECT_THAT(lab.names(kube::kServiceAccount), ElementsAre("default"));
  EXPECT_THAT(lab.names(kube::kConfigMap), ElementsAre("kube-root-ca.crt"));
  lab.erase(kube::kServiceAccount, {"home", "default"});
  lab.erase(kube::kConfigMap, {"home", "kube-root-ca.crt"});
  lab.run(1s);
  EXPECT_THAT(lab.names(kube::kServiceAccount), ElementsAre("default"));
  EXPECT_THAT(lab.names(kube::kConfigMap), ElementsAre("kube-root-ca.crt"));
  lab.patch(kube::kConfigMap, {"home", "kube-root-ca.crt"}, R"({"data":{"ca.crt":"forged"}})");
  lab.run(1s);
  EXPECT_EQ(lab.get(kube::kConfigMap, {"home", "kube-root-ca.crt"}).member("data")["ca.crt"].text(),
            "PEM");
}

TEST(NamespaceStory, GoesWithEverythingInItPodsFirst) {
  Lab lab({.controllers = caretakers()});
  lab.life = [](const Object&) { return PodLife{.stop = 20s}; };
  make_namespace(lab, "home");
  make_namespace(lab, "other");
  pod(lab, "p");
  secret(lab, "s");
  const kube::KindId kWidget = kube::learn_kind({"example.com", "v1", "Widget", "widgets", true});
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"home"}})"));
  lab.run(5s);
  ASSERT_TRUE(lab.erase(kube::kNamespace, kHome));
  lab.run(4s);
  EXPECT_FALSE(lab.get(kube::kPod, {"home", "p"}).deleting()) << "others still have to hear of it";
  lab.run(3s);
  EXPECT_TRUE(lab.get(kube::kPod, {"home", "p"}).deleting());
  EXPECT_THAT(lab.names(kube::kSecret), ElementsAre("s")) << "as long as pods may need it";
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_THAT(lab.names(kube::kSecret), IsEmpty());
  EXPECT_THAT(lab.names(kWidget), IsEmpty());
  EXPECT_THAT(lab.names(kube::kNamespace), ElementsAre("other"));
  EXPECT_THAT(lab.names(kube::kServiceAccount), ElementsAre("default")) << "of the other";
  EXPECT_TRUE(lab.home().idle());
}

TEST(NamespaceStory, StaysAndSaysWhyWhileSomethingIsKept) {
  Lab lab({.controllers = caretakers()});
  make_namespace(lab, "home");
  secret(lab, "s", R"(,"finalizers":["example.com/keep"])");
  lab.run(1s);
  ASSERT_TRUE(lab.erase(kube::kNamespace, kHome));
  lab.run(20s);
  EXPECT_TRUE(lab.get(kube::kSecret, {"home", "s"}).deleting());
  EXPECT_EQ(condition(lab, "NamespaceContentRemaining"),
            "Some resources are remaining: secrets. has 1 resource instances");
  EXPECT_EQ(condition(lab, "NamespaceFinalizersRemaining"),
            "Some content in the namespace has finalizers remaining: example.com/keep in 1 "
            "resource instances");
  EXPECT_THAT(lab.names(kube::kServiceAccount), IsEmpty()) << "nothing is made anew";
  const std::uint64_t before = lab.writes();
  lab.run(10min);
  EXPECT_LE(lab.writes(), before + 1000) << "it is not tried without pause";
  lab.patch(kube::kSecret, {"home", "s"}, R"({"metadata":{"finalizers":[]}})");
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kNamespace), IsEmpty());
}

void two_namespaces(Lab& lab) {
  make_namespace(lab, "home");
  make_namespace(lab, "other");
  lab.run(10s);
  pod(lab, "p");
  secret(lab, "s");
  lab.run(10s);
  lab.erase(kube::kNamespace, kHome);
  lab.run(2min);
}
TEST(NamespaceCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({caretakers(), two_namespaces});
}
TEST(NamespaceFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({caretakers(), two_namespaces});
}

}  // namespace
}  // namespace berth::controllers::stories
