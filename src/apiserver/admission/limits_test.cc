// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/admission_lab.h"

namespace berth::apiserver {
namespace {

std::string pod(std::string_view spec, std::string_view name = "web") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{{}}}}})", name, spec);
}
std::string container(std::string_view resources) {
  return fmt::format(R"("containers":[{{"name":"c","image":"i","resources":{}}}])", resources);
}

class LimitRangerTest : public testing::Test {
 protected:
  LimitRangerTest() {
    lab.put(
        R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l","namespace":"default"},"spec":{"limits":[)"
        R"({"type":"Container","default":{"cpu":"500m","memory":"1Gi"},"defaultRequest":{"cpu":"100m","memory":"1Gi"},"min":{"cpu":"50m"},"max":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"5"}},)"
        R"({"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}}]}})");
  }
  AdmissionLab lab;
  Step step = limit_ranger(lab.store);
};

TEST_F(LimitRangerTest, GivesDefaultsAndSaysSo) {
  const auto trial = lab.create(pod(
      R"("containers":[{"name":"c","image":"i"},{"name":"d","image":"i","resources":{"requests":{"cpu":"200m"}}}],"initContainers":[{"name":"i","image":"i"}])"));
  ASSERT_TRUE(step->mutate(*trial->call));
  EXPECT_EQ(
      trial->at("/metadata/annotations/kubernetes.io~1limit-ranger"),
      R"("LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; memory request for container d; cpu, memory limit for container d; cpu, memory request for init container i; cpu, memory limit for init container i")");
  EXPECT_EQ(trial->at("/spec/containers/1/resources/requests/cpu"), R"("200m")");
  EXPECT_EQ(trial->at("/spec/containers/1/resources/limits/memory"), R"("1Gi")");
  EXPECT_EQ(trial->at("/spec/initContainers/0/resources/requests/cpu"), R"("100m")");
  EXPECT_TRUE(step->validate(*trial->call));
}

struct LimitRow {
  const char* name;
  const char* resources;
  const char* text;
};
class LimitRangerRefuses : public LimitRangerTest, public testing::WithParamInterface<LimitRow> {};

TEST_P(LimitRangerRefuses, InTheRealServersWords) {
  const auto trial = lab.create(pod(container(GetParam().resources)));
  EXPECT_EQ(refused(step->validate(*trial->call)), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    , LimitRangerRefuses,
    testing::Values(
        LimitRow{
            "TooMuch", R"({"requests":{"cpu":"2"},"limits":{"cpu":"2"}})",
            R"(pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2)"},
        LimitRow{
            "TooLittle", R"({"requests":{"cpu":"10m"},"limits":{"cpu":"10m"}})",
            R"(pods "web" is forbidden: minimum cpu usage per Container is 50m, but request is 10m)"},
        LimitRow{
            "TooFarApart", R"({"requests":{"cpu":"100m"},"limits":{"cpu":"1"}})",
            R"(pods "web" is forbidden: cpu max limit to request ratio per Container is 5, but provided ratio is 10.000000)"},
        LimitRow{
            "AllAtOnce", R"({"requests":{"cpu":"10m"},"limits":{"cpu":"2"}})",
            R"(pods "web" is forbidden: [minimum cpu usage per Container is 50m, but request is 10m, maximum cpu usage per Container is 1, but limit is 2, cpu max limit to request ratio per Container is 5, but provided ratio is 200.000000])"},
        LimitRow{
            "NothingStated", R"({})",
            R"(pods "web" is forbidden: [minimum cpu usage per Container is 50m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified, cpu max limit to request ratio per Container is 5, but no request is specified or request is 0])"},
        LimitRow{"WhatFitsIsFine", R"({"requests":{"cpu":"100m"},"limits":{"cpu":"500m"}})", ""}),
    [](const auto& each) { return each.param.name; });

TEST_F(LimitRangerTest, LimitsWholePodsAndClaims) {
  lab.put(
      R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"m","namespace":"other"},"spec":{"limits":[{"type":"Pod","min":{"memory":"10Mi"},"max":{"memory":"1Gi"}}]}})");
  const auto trial =
      lab.create(pod(container(R"({"limits":{"cpu":"200m","memory":"2Gi"}})")), "other");
  EXPECT_EQ(refused(step->validate(*trial->call)),
            R"(pods "web" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi)");
  const auto claim = [&](std::string_view size) {
    return lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"v"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}"}}}}}}}})",
        size));
  };
  EXPECT_EQ(
      refused(step->validate(*claim("1Mi")->call)),
      R"(persistentvolumeclaims "v" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi)");
  EXPECT_EQ(
      refused(step->validate(*claim("3Gi")->call)),
      R"(persistentvolumeclaims "v" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi)");
  EXPECT_TRUE(step->validate(*claim("2Gi")->call));
}

class QuotaTest : public testing::Test {
 protected:
  void quota(std::string_view name, std::string_view hard, std::string_view used,
             std::string_view spec = "") {
    lab.put(fmt::format(
        R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"{}","namespace":"default","uid":"u"}},"spec":{{"hard":{}{}}},"status":{{"hard":{},"used":{}}}}})",
        name, hard, spec, hard, used));
  }
  std::string used(std::string_view name) {
    lab.world.run_until_idle(1h);
    return std::string(
        lab.store.get(kube::kResourceQuota, {"default", name})->status()["used"].raw());
  }
  std::string validate(const std::unique_ptr<Trial>& trial) {
    return refused(step->validate(*trial->call));
  }
  AdmissionLab lab;
  Step step = resource_quota(lab.store);
};

constexpr const char* kSized = R"({"requests":{"cpu":"600m"},"limits":{"memory":"100Mi"}})";

TEST_F(QuotaTest, RefusesWhatIsNotStatedOrNotCountedYet) {
  constexpr const char* kHard = R"({"pods":"1","requests.cpu":"1","limits.memory":"1Gi"})";
  quota("a", kHard, R"({"pods":"0"})");
  EXPECT_EQ(
      validate(lab.create(pod(
          R"("containers":[{"name":"c","image":"i"},{"name":"b","image":"i","resources":{"limits":{"memory":"1Gi"}}}],"initContainers":[{"name":"a","image":"i"}])"))),
      R"(pods "web" is forbidden: failed quota: a: must specify limits.memory for: a,c; requests.cpu for: a,b,c)");
  EXPECT_EQ(
      validate(lab.create(pod(container(kSized)))),
      R"(pods "web" is forbidden: status unknown for quota: a, resources: limits.memory,pods,requests.cpu)");
}

TEST_F(QuotaTest, RefusesWhatIsTooMuch) {
  constexpr const char* kHard = R"({"pods":"1","requests.cpu":"1","limits.memory":"1Gi"})";
  quota("a", kHard, R"({"pods":"0","requests.cpu":"500m","limits.memory":"1Gi"})");
  EXPECT_EQ(
      validate(lab.create(pod(container(kSized)))),
      R"(pods "web" is forbidden: exceeded quota: a, requested: limits.memory=100Mi,requests.cpu=600m, used: limits.memory=1Gi,requests.cpu=500m, limited: limits.memory=1Gi,requests.cpu=1)");
  EXPECT_EQ(used("a"), R"({"pods":"0","requests.cpu":"500m","limits.memory":"1Gi"})");
}

TEST_F(QuotaTest, ReservesWhatItAllowsBeforeAnybodyElseIsAsked) {
  quota("a", R"({"pods":"2","requests.cpu":"2"})", R"({"pods":"0","requests.cpu":"500m"})");
  const auto first = lab.create(pod(container(kSized), "one"));
  const auto second = lab.create(pod(container(kSized), "two"));
  const auto third = lab.create(pod(container(kSized), "three"));
  EXPECT_EQ(validate(first), "");
  EXPECT_EQ(validate(second), "");
  EXPECT_EQ(
      validate(third),
      R"(pods "three" is forbidden: exceeded quota: a, requested: pods=1,requests.cpu=600m, used: pods=2,requests.cpu=1700m, limited: pods=2,requests.cpu=2)");
  EXPECT_EQ(used("a"), R"({"pods":"2","requests.cpu":"1700m"})");
}

TEST_F(QuotaTest, ReservesNothingForADryRunOrInOneQuotaWhenAnotherRefuses) {
  quota("a", R"({"pods":"5"})", R"({"pods":"0"})");
  const auto trial = lab.create(pod(container(kSized)));
  trial->request.options.dry_run = true;
  EXPECT_EQ(validate(trial), "");
  EXPECT_EQ(used("a"), R"({"pods":"0"})");
  quota("b", R"({"count/pods":"0"})", R"({"count/pods":"0"})");
  EXPECT_NE(validate(lab.create(pod(container(kSized)))), "");
  EXPECT_EQ(used("a"), R"({"pods":"0"})");
}

TEST_F(QuotaTest, CountsObjectsByTheirNames) {
  quota(
      "b",
      R"({"count/configmaps":"1","configmaps":"5","services.nodeports":"1","services":"2","count/deployments.apps":"0","gold.storageclass.storage.k8s.io/requests.storage":"1Gi"})",
      R"({"count/configmaps":"0","configmaps":"0","services.nodeports":"0","services":"0","count/deployments.apps":"0","gold.storageclass.storage.k8s.io/requests.storage":"0"})");
  const auto map = [&] {
    return lab.create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y"}})");
  };
  EXPECT_EQ(validate(map()), "");
  EXPECT_EQ(
      validate(map()),
      R"(configmaps "y" is forbidden: exceeded quota: b, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1)");
  EXPECT_EQ(
      validate(lab.create(
          R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80,"name":"a"},{"port":81,"name":"b"}]}})")),
      R"(services "s" is forbidden: exceeded quota: b, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1)");
  EXPECT_EQ(
      validate(lab.create(
          R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")),
      R"(deployments.apps "d" is forbidden: exceeded quota: b, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0)");
  EXPECT_EQ(
      validate(lab.create(
          R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"v"},"spec":{"storageClassName":"gold","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}})")),
      R"(persistentvolumeclaims "v" is forbidden: exceeded quota: b, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: gold.storageclass.storage.k8s.io/requests.storage=0, limited: gold.storageclass.storage.k8s.io/requests.storage=1Gi)");
}

TEST_F(QuotaTest, ChargesAnUpdateForTheDifference) {
  const kube::Object service = lab.put(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"type":"ClusterIP","ports":[{"port":80,"name":"a"},{"port":81,"name":"b"}]}})");
  quota("b", R"({"services.nodeports":"1","services":"1"})",
        R"({"services.nodeports":"0","services":"1"})");
  const auto as = [&](std::string_view type) {
    return lab.update(
        service,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"s"}},"spec":{{"type":"{}","ports":[{{"port":80,"name":"a"}},{{"port":81,"name":"b"}}]}}}})",
            type));
  };
  EXPECT_EQ(
      validate(as("NodePort")),
      R"(services "s" is forbidden: exceeded quota: b, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1)");
  EXPECT_EQ(validate(as("ClusterIP")), "");
}

struct ScopeRow {
  const char* name;
  const char* scope;
  const char* spec;
  bool allowed;
};
class QuotaScopes : public QuotaTest, public testing::WithParamInterface<ScopeRow> {};

TEST_P(QuotaScopes, SayWhichPodsAreCounted) {
  quota("s", R"({"pods":"0"})", R"({"pods":"0"})", fmt::format(",{}", GetParam().scope));
  EXPECT_EQ(
      validate(lab.create(pod(GetParam().spec))),
      GetParam().allowed
          ? ""
          : R"(pods "web" is forbidden: exceeded quota: s, requested: pods=1, used: pods=0, limited: pods=0)");
}

const char* const kIn =
    R"("scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]})";
constexpr const char* kPlain = R"("containers":[{"name":"c","image":"i"}])";
INSTANTIATE_TEST_SUITE_P(
    , QuotaScopes,
    testing::Values(
        ScopeRow{"BestEffort", R"("scopes":["BestEffort"])", kPlain, false},
        ScopeRow{"NotBestEffort", R"("scopes":["NotBestEffort"])", kPlain, true},
        ScopeRow{"Terminating", R"("scopes":["Terminating"])",
                 R"("activeDeadlineSeconds":5,"containers":[{"name":"c","image":"i"}])", false},
        ScopeRow{"ThePriorityClass", kIn,
                 R"("priorityClassName":"high","containers":[{"name":"c","image":"i"}])", false},
        ScopeRow{"AnotherPriorityClass", kIn,
                 R"("priorityClassName":"low","containers":[{"name":"c","image":"i"}])", true},
        ScopeRow{
            "CrossNamespace", R"("scopes":["CrossNamespacePodAffinity"])",
            R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a","namespaces":["x"]}]}},"containers":[{"name":"c","image":"i"}])",
            false},
        ScopeRow{"NotCrossNamespace", R"("scopes":["CrossNamespacePodAffinity"])", kPlain, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace berth::apiserver
