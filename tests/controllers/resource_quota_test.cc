// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

const std::vector<KindId> kKinds = {
    kube::kPod,           kube::kService,     kube::kPersistentVolumeClaim,
    kube::kResourceClaim, kube::kDeviceClass, kube::kSecret,
    kube::kResourceQuota, kube::kClusterRole, kube::kCustomResourceDefinition};
const Key kQuota{"default", "quota"};

Controllers counters() {
  return [] {
    return *make_controllers({"resourcequota-controller", "clusterrole-aggregation-controller"});
  };
}
void pod(Lab& lab, const std::string& name) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"containers":[{{"name":"main","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}})",
      name)));
}
std::string used(Lab& lab) {
  return std::string(lab.get(kube::kResourceQuota, kQuota).status()["used"].raw());
}
void quota(Lab& lab, const std::string& hard) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"quota","namespace":"default"}},"spec":{{"hard":{}}}}})",
      hard)));
}

TEST(ResourceQuotaStory, WhatGoesIsGivenBack) {
  Lab lab({.controllers = counters(), .kinds = kKinds});
  for (const char* name : {"a", "b", "c"}) pod(lab, name);
  quota(lab, R"({"pods":"5","requests.cpu":"8","count/secrets":"1"})");
  lab.run(10s);
  EXPECT_EQ(used(lab), R"({"count/secrets":"0","pods":"3","requests.cpu":"3"})");
  lab.erase(kube::kPod, {"default", "a"});
  lab.run(10s);
  EXPECT_EQ(used(lab), R"({"count/secrets":"0","pods":"2","requests.cpu":"2"})");
  ASSERT_TRUE(
      lab.patch(kube::kPod, {"default", "b"}, R"({"status":{"phase":"Succeeded"}})", "status"));
  lab.run(10s);
  EXPECT_EQ(used(lab), R"({"count/secrets":"0","pods":"1","requests.cpu":"1"})");
  ASSERT_TRUE(
      lab.patch(kube::kResourceQuota, kQuota, R"({"spec":{"hard":{"requests.cpu":null}}})"));
  lab.run(10s);
  EXPECT_EQ(used(lab), R"({"count/secrets":"0","pods":"1"})");
  EXPECT_TRUE(lab.home().idle());
}

TEST(ResourceQuotaStory, AWrongCountIsPutRightInTime) {
  Lab lab({.controllers = counters(), .kinds = kKinds});
  quota(lab, R"({"pods":"5"})");
  lab.run(10s);
  // Admitted, and then refused by somebody else.
  ASSERT_TRUE(
      lab.patch(kube::kResourceQuota, kQuota, R"({"status":{"used":{"pods":"1"}}})", "status"));
  lab.run(4min);
  EXPECT_EQ(used(lab), R"({"pods":"1"})");
  lab.run(2min);
  EXPECT_EQ(used(lab), R"({"pods":"0"})");
  EXPECT_TRUE(lab.home().idle());
}

void coming_and_going(Lab& lab) {
  for (const char* name : {"a", "b", "c"}) pod(lab, name);
  lab.run(30s);
  quota(lab, R"({"pods":"5","count/pods":"7"})");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"add":"yes"}}]}})"));
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"part","labels":{"add":"yes"}},"rules":[{"verbs":["get"]}]})"));
  lab.run(1min);
  lab.erase(kube::kPod, {"default", "b"});
  lab.run(1min);
  lab.erase(kube::kPod, {"default", "c"});
  lab.run(1min);
}
TEST(ResourceQuotaCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({counters(), coming_and_going, kKinds});
}
TEST(ResourceQuotaFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({counters(), coming_and_going, kKinds});
}

}  // namespace
}  // namespace berth::controllers::stories
