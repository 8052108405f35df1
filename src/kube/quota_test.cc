// SPDX-License-Identifier: Apache-2.0
#include "kube/quota.h"

#include <gmock/gmock.h>

#include "kube/time.h"

namespace berth::kube {
namespace {

using testing::ElementsAre;

const WallTime kNow = *parse_time("2026-01-01T00:10:00Z");

Object make(KindId kind, const std::string& members, const std::string& metadata = "") {
  const auto object = Object::parse(
      kind,
      fmt::format(R"({{"metadata":{{"name":"x","namespace":"a"{}}},{}}})", metadata, members));
  EXPECT_TRUE(object.has_value()) << members;
  return object.value_or(Object());
}

std::string text_of(const Result<ResourceList>& list) {
  if (!list) return list.error().message;
  std::string out;
  for (const auto& [name, amount] : *list)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, amount.text());
  return out;
}

TEST(Quota, CountsWhatAnObjectTakes) {
  struct Row {
    const char* name;
    KindId kind;
    std::string metadata, members;
    const char* usage;
  };
  const Row rows[] = {
      {"a pod", kPod, "",
       R"("spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi","example.com/gpu":"2","hugepages-2Mi":"4Mi"},"limits":{"cpu":"2"}}}]})",
       "count/pods=1 cpu=1 hugepages-2Mi=4Mi limits.cpu=2 memory=1Gi pods=1 requests.cpu=1 "
       "requests.example.com/gpu=2 requests.hugepages-2Mi=4Mi requests.memory=1Gi"},
      {"a pod that has ended", kPod, "",
       R"("spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Failed"})",
       "count/pods=1"},
      {"a pod that nobody could end", kPod,
       R"(,"deletionTimestamp":"2026-01-01T00:09:00Z","deletionGracePeriodSeconds":30)",
       R"("spec":{})", "count/pods=1"},
      {"a pod within its grace", kPod,
       R"(,"deletionTimestamp":"2026-01-01T00:09:30Z","deletionGracePeriodSeconds":30)",
       R"("spec":{})", "count/pods=1 pods=1"},
      {"a cluster service", kService, "", R"("spec":{"type":"ClusterIP","ports":[{"port":1}]})",
       "count/services=1 services=1 services.loadbalancers=0 services.nodeports=0"},
      {"node ports", kService, "", R"("spec":{"type":"NodePort","ports":[{"port":1},{"port":2}]})",
       "count/services=1 services=1 services.loadbalancers=0 services.nodeports=2"},
      {"a balancer with stated ports only", kService, "",
       R"("spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1,"nodePort":30000},{"port":2}]})",
       "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1"},
      {"a claim", kPersistentVolumeClaim, "",
       R"("spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}})",
       "count/persistentvolumeclaims=1 "
       "gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 "
       "gold.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 "
       "requests.storage=2"},
      {"a claim whose shrinking is under way", kPersistentVolumeClaim, "",
       R"("spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{"allocatedResources":{"storage":"2Gi"}})",
       "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=2Gi"},
      {"devices", kResourceClaim, "",
       R"("spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}},)"
       R"({"name":"b","firstAvailable":[{"deviceClassName":"gpu","allocationMode":"All"},{"deviceClassName":"fpga","allocationMode":"ExactCount","count":1}]}]}})",
       "count/resourceclaims.resource.k8s.io=1 fpga.deviceclass.resource.k8s.io/devices=1 "
       "gpu.deviceclass.resource.k8s.io/devices=34 "
       "requests.deviceclass.resource.kubernetes.io/fpga=1 "
       "requests.deviceclass.resource.kubernetes.io/gpu=34 requests.example.com/gpu=34"},
      {"a secret, by its old name too", kSecret, "", R"("data":{})", "count/secrets=1 secrets=1"},
      {"a deployment", kDeployment, "", R"("spec":{})", "count/deployments.apps=1"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(text_of(quota_usage(make(row.kind, row.members, row.metadata),
                                  {.now = kNow, .device_classes = {{"gpu", "example.com/gpu"}}})),
              row.usage)
        << row.name;
}

TEST(Quota, KnowsTheNamesAKindIsCountedUnder) {
  const std::vector<std::string> names = {"pods",
                                          "cpu",
                                          "count/pods",
                                          "count/jobs.batch",
                                          "hugepages-1Gi",
                                          "requests.example.com/gpu",
                                          "requests.storage",
                                          "gold.storageclass.storage.k8s.io/requests.storage",
                                          "services",
                                          "secrets",
                                          "gpu.deviceclass.resource.k8s.io/devices"};
  const auto tracked = [&](KindId kind, QuotaSurroundings around = {}) {
    return quota_tracked(kind, names, around);
  };
  EXPECT_THAT(tracked(kPod), ElementsAre("pods", "cpu", "count/pods", "hugepages-1Gi",
                                         "requests.example.com/gpu"));
  EXPECT_THAT(tracked(kJob), ElementsAre("count/jobs.batch"));
  EXPECT_THAT(tracked(kPersistentVolumeClaim),
              ElementsAre("requests.storage", "gold.storageclass.storage.k8s.io/requests.storage"));
  EXPECT_THAT(tracked(kService), ElementsAre("services"));
  EXPECT_THAT(tracked(kSecret), ElementsAre("secrets"));
  EXPECT_THAT(tracked(kResourceClaim), ElementsAre("gpu.deviceclass.resource.k8s.io/devices"));
  EXPECT_THAT(tracked(kResourceClaim, {.device_classes = {{"gpu", "example.com/gpu"}}}),
              ElementsAre("requests.example.com/gpu", "gpu.deviceclass.resource.k8s.io/devices"));
}

TEST(Quota, PutsPodsIntoScopes) {
  const char* stated = R"("containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}])";
  const char* silent = R"("containers":[{"name":"a","resources":{"limits":{"cpu":"0"}}}])";
  struct Row {
    QuotaScope scope;
    std::string spec;
    bool in;
  };
  const Row rows[] = {
      {{"Terminating", "Exists"}, R"("activeDeadlineSeconds":0)", true},
      {{"Terminating", "Exists"}, "", false},
      {{"NotTerminating", "Exists"}, "", true},
      {{"BestEffort", "Exists"}, stated, false},
      {{"BestEffort", "Exists"}, silent, true},
      {{"NotBestEffort", "Exists"}, stated, true},
      {{"NotBestEffort", "Exists"}, R"("resources":{"requests":{"memory":"1"}})", true},
      {{"PriorityClass", "Exists"}, R"("priorityClassName":"high")", true},
      {{"PriorityClass", "Exists"}, "", false},
      {{"PriorityClass", "In", {"high"}}, R"("priorityClassName":"high")", true},
      {{"PriorityClass", "In", {"low"}}, R"("priorityClassName":"high")", false},
      {{"PriorityClass", "NotIn", {"low"}}, "", true},
      {{"PriorityClass", "DoesNotExist"}, "", true},
      {{"CrossNamespacePodAffinity", "Exists"},
       R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"namespaceSelector":{}}]}})",
       true},
      {{"CrossNamespacePodAffinity", "Exists"},
       R"("affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"namespaces":["b"]}}]}})",
       true},
      {{"CrossNamespacePodAffinity", "Exists"},
       R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})",
       false},
      {{"VolumeAttributesClass", "Exists"}, "", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(quota_scope_holds(row.scope, make(kPod, fmt::format(R"("spec":{{{}}})", row.spec))),
              row.in)
        << row.scope.name << " " << row.scope.op << " " << row.spec;
  EXPECT_EQ(
      quota_scope_holds({"PriorityClass", "Near"}, make(kPod, R"("spec":{})")).error().message,
      R"("Near" is not a valid scope selector operator)");
  const Object claim =
      make(kPersistentVolumeClaim, R"("spec":{"volumeAttributesClassName":"fast"})");
  EXPECT_EQ(quota_scope_holds({"VolumeAttributesClass", "In", {"fast"}}, claim), true);
  EXPECT_EQ(quota_scope_holds({"BestEffort", "Exists"}, claim), false);
}

TEST(Quota, MatchesByNamesInItsStatusAndByAllScopes) {
  const Object pod = make(kPod, R"("spec":{"activeDeadlineSeconds":5})");
  const auto quota = [](const std::string& spec, const std::string& hard) {
    return make(kResourceQuota,
                fmt::format(R"("spec":{{{}}},"status":{{"hard":{{{}}}}})", spec, hard));
  };
  EXPECT_EQ(quota_matches(quota("", R"("pods":"1")"), pod), true);
  EXPECT_EQ(quota_matches(quota("", R"("services":"1")"), pod), false);
  EXPECT_EQ(quota_matches(quota("", ""), pod), false) << "not recounted yet";
  EXPECT_EQ(quota_matches(quota(R"("scopes":["Terminating"])", R"("pods":"1")"), pod), true);
  EXPECT_EQ(
      quota_matches(quota(R"("scopes":["Terminating","NotBestEffort"])", R"("pods":"1")"), pod),
      false);
  EXPECT_EQ(quota_matches(quota(R"("scopes":["Terminating"],"scopeSelector":{"matchExpressions":[)"
                                R"({"scopeName":"PriorityClass","operator":"DoesNotExist"}]})",
                                R"("pods":"1")"),
                          pod),
            true);
  EXPECT_EQ(quota_matches(quota(R"("scopes":["Terminating"])", R"("services":"1")"),
                          make(kService, R"("spec":{})")),
            false);
}

TEST(Quota, ObligesContainersToStateComputeResources) {
  const Object pod = make(
      kPod,
      R"("spec":{"containers":[{"name":"b"},{"name":"a","resources":{"requests":{"memory":"1"}}}],"initContainers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]})");
  EXPECT_EQ(
      quota_constraints({"limits.cpu", "memory", "pods", "requests.storage"}, pod).error().message,
      "must specify limits.cpu for: a,b; memory for: b,c");
  EXPECT_TRUE(quota_constraints({"pods"}, pod));
  EXPECT_TRUE(quota_constraints(
      {"cpu"},
      make(kPod, R"("spec":{"containers":[{"name":"a"}],"resources":{"limits":{"cpu":"1"}}})")));
}

TEST(Quota, AsksOnlyAboutRequestsThatCanTakeSomething) {
  const Object pod = make(kPod, R"("spec":{})");
  const Object ending = make(kPod, R"("spec":{"activeDeadlineSeconds":5})");
  EXPECT_TRUE(quota_handles(Verb::kCreate, "", pod, {}));
  EXPECT_FALSE(quota_handles(Verb::kUpdate, "", pod, pod));
  EXPECT_TRUE(quota_handles(Verb::kUpdate, "", ending, pod));
  EXPECT_TRUE(quota_handles(Verb::kUpdate, "resize", pod, pod));
  EXPECT_FALSE(quota_handles(Verb::kCreate, "binding", pod, {}));
  EXPECT_TRUE(quota_handles(Verb::kUpdate, "", make(kService, R"("spec":{})"), {}));
  EXPECT_FALSE(quota_handles(Verb::kUpdate, "", make(kSecret, R"("data":{})"), {}));
}

TEST(Quota, TellsWhenAnUpdateGivesSomethingBack) {
  const Object running = make(kPod, R"("spec":{},"status":{"phase":"Running"})");
  const Object ended = make(kPod, R"("spec":{},"status":{"phase":"Succeeded"})");
  EXPECT_TRUE(quota_replenished(running, ended, kNow));
  EXPECT_FALSE(quota_replenished(running, running, kNow));
  EXPECT_TRUE(quota_replenished(make(kService, R"("spec":{"type":"NodePort"})"),
                                make(kService, R"("spec":{"type":"ClusterIP"})"), kNow));
}

TEST(Quota, AClaimMadeForAPodIsNotChargedTwice) {
  const Object pod = *Object::parse(
      kPod,
      R"({"metadata":{"name":"p","namespace":"a","uid":"u"},"spec":{"containers":[{"name":"m","resources":{"requests":{"example.com/gpu":"2"}}}]}})");
  const Object claim = make(
      kResourceClaim,
      R"("spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}}]}})",
      R"(,"annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}])");
  const auto charged = [&](const Object& of) { return claim_pod_usage(of, pod, {&claim}, kNow); };
  EXPECT_EQ(text_of(quota_usage(claim, {.now = kNow,
                                        .device_classes = {{"gpu", "example.com/gpu"}},
                                        .charged_to_pod = charged})),
            "count/resourceclaims.resource.k8s.io=1 gpu.deviceclass.resource.k8s.io/devices=2 "
            "requests.deviceclass.resource.kubernetes.io/gpu=2");
  EXPECT_TRUE(claim_pod_usage(claim, Object(), {}, kNow).empty());
}

}  // namespace
}  // namespace berth::kube
