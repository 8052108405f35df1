// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "apiserver/admission/admission_lab.h"
#include "apiserver/auth/allow_all.h"
#include "apiserver/auth/bootstrap_rbac.h"

namespace berth::apiserver {
namespace {

std::string pod(std::string_view spec) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web"}},"spec":{{{}"containers":[{{"name":"c","image":"i"}}]}}}})",
      spec);
}

TEST(DefaultSteps, StandInTheRealOrderWithTheQuotaLast) {
  AdmissionLab lab;
  AllowAll allow_all;
  Rbac rbac(lab.store);
  std::vector<std::string_view> names;
  const std::vector<Step> steps = default_steps(lab.store, allow_all, Random(1), &rbac);
  for (const Step& step : steps) names.push_back(step->name());
  EXPECT_EQ(names.front(), "NamespaceLifecycle");
  EXPECT_EQ(names.back(), "ResourceQuota");
  const auto place = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(place("LimitRanger"), place("ServiceAccount"));
  EXPECT_LT(place("Priority"), place("DefaultTolerationSeconds"));
  EXPECT_LT(place("DefaultTolerationSeconds"), place("RuntimeClass"));
}

TEST(TaintNodesByCondition, ANewNodeIsNotReady) {
  AdmissionLab lab;
  const Step step = taint_nodes_by_condition();
  const auto node = lab.create(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})");
  ASSERT_TRUE(step->mutate(*node->call));
  ASSERT_TRUE(step->mutate(*node->call));
  EXPECT_EQ(node->at("/spec/taints"),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
}

TEST(PodTopologyLabels, GoFromTheNodeToTheBindingOrThePod) {
  AdmissionLab lab;
  lab.put(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","other":"x"}}})");
  const Step step = pod_topology_labels(lab.store);
  const auto binding = lab.post(
      kube::kPod, {"default", "web"}, "binding",
      R"({"metadata":{"name":"web","labels":{"topology.kubernetes.io/zone":"lie"}},"target":{"kind":"Node","name":"n"}})");
  ASSERT_TRUE(step->mutate(*binding->call));
  EXPECT_EQ(
      json::print(*binding->posted),
      R"({"metadata":{"name":"web","labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r"}},"target":{"kind":"Node","name":"n"}})");
  const auto on_node = lab.create(pod(R"("nodeName":"n",)"));
  ASSERT_TRUE(step->mutate(*on_node->call));
  EXPECT_EQ(on_node->at("/metadata/labels"),
            R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
  const auto nowhere = lab.create(pod(R"("nodeName":"gone",)"));
  EXPECT_TRUE(step->mutate(*nowhere->call));
}

TEST(StorageObjectInUseProtection, MarksVolumesAndClaims) {
  AdmissionLab lab;
  const Step step = storage_object_in_use_protection();
  const auto claim = lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"v","finalizers":["mine/x"]},"spec":{}})");
  ASSERT_TRUE(step->mutate(*claim->call));
  ASSERT_TRUE(step->mutate(*claim->call));
  EXPECT_EQ(claim->at("/metadata/finalizers"), R"(["mine/x","kubernetes.io/pvc-protection"])");
  const auto volume = lab.create(
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{}})");
  ASSERT_TRUE(step->mutate(*volume->call));
  EXPECT_EQ(volume->at("/metadata/finalizers"), R"(["kubernetes.io/pv-protection"])");
}

TEST(DefaultStorageClass, IsTheNewestThatIsMarked) {
  AdmissionLab lab;
  const Step step = default_storage_class(lab.store);
  const auto claim = [&](std::string_view spec) {
    return lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"v"}},"spec":{{{}}}}})",
        spec));
  };
  const auto none = claim("");
  ASSERT_TRUE(step->mutate(*none->call));
  EXPECT_EQ(none->at("/spec/storageClassName"), "");
  for (const auto& [name, time] :
       {std::pair("old", "2025-01-01T00:00:00Z"), std::pair("new", "2026-01-01T00:00:00Z")})
    lab.put(fmt::format(
        R"({{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"{}","creationTimestamp":"{}","annotations":{{"storageclass.kubernetes.io/is-default-class":"true"}}}},"provisioner":"p"}})",
        name, time));
  const auto given = claim("");
  ASSERT_TRUE(step->mutate(*given->call));
  EXPECT_EQ(given->at("/spec/storageClassName"), R"("new")");
  const auto asked = claim(R"("storageClassName":"")");
  ASSERT_TRUE(step->mutate(*asked->call));
  EXPECT_EQ(asked->at("/spec/storageClassName"), R"("")");
}

TEST(PersistentVolumeClaimResize, NeedsAClassThatAllowsIt) {
  AdmissionLab lab;
  const Step step = persistent_volume_claim_resize(lab.store);
  constexpr const char* kClaim =
      R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"v","namespace":"default"}},"spec":{{"storageClassName":"std","resources":{{"requests":{{"storage":"{}"}}}}}},"status":{{"phase":"{}"}}}})";
  const kube::Object bound = lab.put(fmt::format(fmt::runtime(kClaim), "1Gi", "Bound"));
  const std::string larger = fmt::format(fmt::runtime(kClaim), "2Gi", "Bound");
  EXPECT_EQ(
      refused(step->validate(*lab.update(bound, larger)->call)),
      R"(persistentvolumeclaims "v" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize)");
  lab.put(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"std"},"provisioner":"p","allowVolumeExpansion":true})");
  EXPECT_TRUE(step->validate(*lab.update(bound, larger)->call));
  const kube::Object pending = lab.put(fmt::format(fmt::runtime(kClaim), "1Gi", "Pending"));
  EXPECT_EQ(
      refused(step->validate(*lab.update(pending, larger)->call)),
      R"(persistentvolumeclaims "v" is forbidden: Only bound persistent volume claims can be expanded)");
}

class RuntimeClassTest : public testing::Test {
 protected:
  RuntimeClassTest() {
    lab.put(
        R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"rc"},"handler":"h","overhead":{"podFixed":{"cpu":"10m"}},"scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k","operator":"Exists"}]}})");
  }
  std::string outcome(std::string_view spec) {
    const auto trial = lab.create(pod(spec));
    const Result<Ok> mutated = step->mutate(*trial->call);
    return refused(mutated ? step->validate(*trial->call) : mutated);
  }
  AdmissionLab lab;
  Step step = runtime_class(lab.store);
};

TEST_F(RuntimeClassTest, GivesItsOverheadAndItsNodes) {
  const auto trial = lab.create(pod(
      R"("runtimeClassName":"rc","tolerations":[{"key":"k","operator":"Exists"},{"key":"z","operator":"Exists"}],)"));
  ASSERT_TRUE(step->mutate(*trial->call));
  EXPECT_EQ(trial->at("/spec/overhead"), R"({"cpu":"10m"})");
  EXPECT_EQ(trial->at("/spec/nodeSelector"), R"({"a":"b"})");
  EXPECT_EQ(trial->at("/spec/tolerations"),
            R"([{"key":"k","operator":"Exists"},{"key":"z","operator":"Exists"}])");
  EXPECT_TRUE(step->validate(*trial->call));
}

TEST_F(RuntimeClassTest, RefusesInTheRealServersWords) {
  EXPECT_EQ(outcome(""), "");
  EXPECT_EQ(outcome(R"("runtimeClassName":"nix",)"),
            R"(pods "web" is forbidden: pod rejected: RuntimeClass "nix" not found)");
  EXPECT_EQ(
      outcome(R"("runtimeClassName":"rc","overhead":{"cpu":"1"},)"),
      R"(pods "web" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead)");
  EXPECT_EQ(
      outcome(R"("overhead":{"cpu":"1"},)"),
      R"(pods "web" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead)");
  EXPECT_EQ(
      outcome(R"("runtimeClassName":"rc","nodeSelector":{"a":"c"},)"),
      R"(pods "web" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c)");
}

class ServiceAddressesTest : public testing::Test {
 protected:
  std::unique_ptr<Trial> service(std::string_view name, std::string_view spec) {
    return lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{}"}},"spec":{{{}}}}})", name,
        spec));
  }
  std::string refuses(std::string_view name, std::string_view spec) {
    return refused(step->mutate(*service(name, spec)->call));
  }
  AdmissionLab lab;
  Step step = service_addresses(lab.store, Random(1));
};

TEST_F(ServiceAddressesTest, GivesEachServiceAnAddressOfItsOwn) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const auto trial = service("s" + std::to_string(i), R"("ports":[{"port":80}])");
    ASSERT_TRUE(step->mutate(*trial->call));
    EXPECT_THAT(trial->at("/spec/clusterIP"), testing::StartsWith("\"10.96."));
    EXPECT_EQ(trial->at("/spec/clusterIPs"), "[" + trial->at("/spec/clusterIP") + "]");
    EXPECT_TRUE(seen.insert(trial->at("/spec/clusterIP")).second);
  }
}

TEST_F(ServiceAddressesTest, LeavesHeadlessAndExternalServicesAlone) {
  const auto headless =
      service("a", R"("clusterIP":"None","ports":[{"port":80}],"selector":{"a":"b"})");
  ASSERT_TRUE(step->mutate(*headless->call));
  EXPECT_EQ(headless->at("/spec/clusterIPs"), "");
  EXPECT_EQ(headless->at("/spec/clusterIP"), R"("None")");
  const auto external = service("b", R"("type":"ExternalName","externalName":"example.com")");
  ASSERT_TRUE(step->mutate(*external->call));
  EXPECT_EQ(external->at("/spec/clusterIP"), "");
}

TEST_F(ServiceAddressesTest, FreesAnAddressWithItsService) {
  const kube::Object there = lab.put(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o","namespace":"default"},"spec":{"type":"NodePort","clusterIP":"10.96.0.50","clusterIPs":["10.96.0.50"],"ports":[{"port":80,"nodePort":30080}]}})");
  constexpr const char* kIp = R"("clusterIP":"10.96.0.50","ports":[{"port":80}])";
  constexpr const char* kPort = R"("type":"NodePort","ports":[{"port":80,"nodePort":30080}])";
  EXPECT_EQ(
      refuses("p", kIp),
      R"(Service "p" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.50"]: failed to allocate IP 10.96.0.50: provided IP is already allocated)");
  EXPECT_EQ(
      refuses("p", kPort),
      R"(Service "p" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated)");
  lab.drop(kube::kService, {"default", "o"});
  EXPECT_EQ(refuses("p", kIp), "");
  EXPECT_EQ(refuses("p", kPort), "");
  // Promised to p, which may try again, for a minute; then anybody's.
  EXPECT_EQ(refuses("p", kIp), "");
  EXPECT_NE(refuses("q", kIp), "");
  lab.now = lab.now + 2min;
  EXPECT_EQ(refuses("q", kIp), "");
}

TEST_F(ServiceAddressesTest, RefusesWhatTheRangesDoNotHave) {
  EXPECT_EQ(
      refuses("o", R"("clusterIP":"10.9.9.9","ports":[{"port":80}])"),
      R"(Service "o" is invalid: spec.clusterIPs: Invalid value: ["10.9.9.9"]: failed to allocate IP 10.9.9.9: the provided network does not match the current range)");
  EXPECT_EQ(
      refuses("o", R"("type":"NodePort","ports":[{"port":80,"nodePort":80}])"),
      R"(Service "o" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767)");
  EXPECT_EQ(
      refuses("o", R"("ipFamilyPolicy":"RequireDualStack","ports":[{"port":80}])"),
      R"(Service "o" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services)");
  EXPECT_EQ(
      refuses("o", R"("ipFamilies":["IPv6"],"ports":[{"port":80}])"),
      R"(Service "o" is invalid: spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster)");
  EXPECT_EQ(
      refuses("o", R"("clusterIP":"fd00::1","ports":[{"port":80}])"),
      R"(Service "o" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster)");
}

TEST_F(ServiceAddressesTest, APortOfTwoProtocolsHasOneNodePortAndHealthChecksAnother) {
  const auto trial = service(
      "lb",
      R"("type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":80,"name":"t"},{"port":80,"protocol":"UDP","name":"u"}])");
  ASSERT_TRUE(step->mutate(*trial->call));
  EXPECT_NE(trial->at("/spec/ports/0/nodePort"), "");
  EXPECT_EQ(trial->at("/spec/ports/0/nodePort"), trial->at("/spec/ports/1/nodePort"));
  EXPECT_NE(trial->at("/spec/healthCheckNodePort"), "");
  EXPECT_NE(trial->at("/spec/healthCheckNodePort"), trial->at("/spec/ports/0/nodePort"));
}

TEST_F(ServiceAddressesTest, AnUpdateKeepsWhatThereIsAndGetsWhatIsMissing) {
  const kube::Object old = lab.put(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o","namespace":"default"},"spec":{"type":"ClusterIP","clusterIP":"10.96.0.50","clusterIPs":["10.96.0.50"],"ports":[{"port":80}]}})");
  const auto trial = lab.update(
      old,
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o"},"spec":{"type":"NodePort","clusterIP":"10.96.0.50","clusterIPs":["10.96.0.50"],"ports":[{"port":80}]}})");
  ASSERT_TRUE(step->mutate(*trial->call));
  EXPECT_EQ(trial->at("/spec/clusterIP"), R"("10.96.0.50")");
  EXPECT_NE(trial->at("/spec/ports/0/nodePort"), "");
}

TEST_F(ServiceAddressesTest, AnUpdateThatLeavesPortsOutKeepsThem) {
  const kube::Object old = lab.put(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o","namespace":"default"},"spec":{"type":"NodePort","clusterIP":"10.96.0.50","clusterIPs":["10.96.0.50"],"ports":[{"port":80,"name":"a","nodePort":30080},{"port":81,"name":"b","nodePort":30081}]}})");
  const auto trial = lab.update(
      old,
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o"},"spec":{"type":"NodePort","ports":[{"port":90,"name":"b"},{"port":80,"name":"a","nodePort":30081}]}})");
  ASSERT_TRUE(step->mutate(*trial->call));
  // What another port has taken over is not kept.
  EXPECT_NE(trial->at("/spec/ports/0/nodePort"), "30081");
  EXPECT_EQ(trial->at("/spec/ports/1/nodePort"), "30081");
  const auto same = lab.update(
      old,
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"o"},"spec":{"type":"NodePort","ports":[{"port":90,"name":"b"},{"port":80,"name":"a"}]}})");
  ASSERT_TRUE(step->mutate(*same->call));
  EXPECT_EQ(same->at("/spec/ports/0/nodePort"), "30081");
  EXPECT_EQ(same->at("/spec/ports/1/nodePort"), "30080");
}

class RoleEscalationTest : public testing::Test {
 protected:
  RoleEscalationTest() {
    for (const std::string& manifest : bootstrap_rbac()) lab.put(manifest);
    lab.put(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"writer"},"rules":[{"verbs":["get","create","update"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles","clusterrolebindings"]},{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
    lab.put(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"jane"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"writer"},"subjects":[{"kind":"User","name":"jane"}]})");
  }
  std::string outcome(std::string_view json, kube::User user) {
    const auto trial = lab.create(json, "default", std::move(user));
    return refused(step->mutate(*trial->call));
  }
  AdmissionLab lab;
  Rbac rbac{lab.store};
  Step step = role_escalation(rbac);
  kube::User jane{.name = "jane", .groups = {"system:authenticated"}};
};

std::string role(std::string_view kind, std::string_view more) {
  return fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"{}","metadata":{{"name":"bad"}},{}}})",
      kind, more);
}
std::string binding(std::string_view kind, std::string_view role_kind, std::string_view name) {
  return role(
      kind,
      fmt::format(
          R"("roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{}","name":"{}"}},"subjects":[{{"kind":"User","name":"bob"}}])",
          role_kind, name));
}

TEST_F(RoleEscalationTest, NobodyGrantsWhatTheyDoNotHold) {
  EXPECT_EQ(
      outcome(role("Role", R"("rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])"),
              jane),
      "");
  const std::string more = role(
      "Role",
      R"("rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods","secrets"]},{"verbs":["get"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["b","a"]}])");
  EXPECT_EQ(
      outcome(more, jane),
      "roles.rbac.authorization.k8s.io \"bad\" is forbidden: user \"jane\" "
      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
      "held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n{APIGroups:[\"\"], "
      "Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n{APIGroups:[\"apps\"], "
      "Resources:[\"deployments\"], ResourceNames:[\"a\"], "
      "Verbs:[\"get\"]}\n{APIGroups:[\"apps\"], "
      "Resources:[\"deployments\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}");
  EXPECT_EQ(outcome(more, {.name = "root", .groups = {"system:masters"}}), "");
}

TEST_F(RoleEscalationTest, NobodyBindsARoleWithMoreThanTheyHold) {
  EXPECT_EQ(
      outcome(binding("RoleBinding", "ClusterRole", "system:volume-scheduler"), jane),
      "rolebindings.rbac.authorization.k8s.io \"bad\" is forbidden: user \"jane\" "
      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
      "held:\n{APIGroups:[\"\"], Resources:[\"persistentvolumeclaims\"], Verbs:[\"get\" \"list\" "
      "\"patch\" \"update\" \"watch\"]}\n{APIGroups:[\"\"], Resources:[\"persistentvolumes\"], "
      "Verbs:[\"get\" \"list\" \"patch\" \"update\" \"watch\"]}\n{APIGroups:[\"storage.k8s.io\"], "
      "Resources:[\"storageclasses\"], Verbs:[\"get\" \"list\" \"watch\"]}");
  EXPECT_EQ(outcome(binding("RoleBinding", "ClusterRole", "writer"), jane), "");
  EXPECT_EQ(outcome(binding("RoleBinding", "Role", "nix"), jane),
            R"(rolebindings.rbac.authorization.k8s.io "nix" not found)");
  EXPECT_EQ(outcome(binding("ClusterRoleBinding", "ClusterRole", "nix"), jane),
            R"(clusterrolebindings.rbac.authorization.k8s.io "nix" not found)");
}

TEST_F(RoleEscalationTest, AggregationNeedsEverythingAndRightsMayBeGivenOn) {
  EXPECT_EQ(
      outcome(
          role(
              "ClusterRole",
              R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},"rules":[])"),
          jane),
      R"(clusterroles.rbac.authorization.k8s.io "bad" is forbidden: must have cluster-admin privileges to use the aggregationRule)");
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"granter"},"rules":[{"verbs":["escalate","bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"]}]})");
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"g"},"roleRef":{"kind":"ClusterRole","name":"granter"},"subjects":[{"kind":"User","name":"jane"}]})");
  EXPECT_EQ(outcome(role("ClusterRole",
                         R"("rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])"),
                    jane),
            "");
  EXPECT_EQ(outcome(binding("RoleBinding", "ClusterRole", "cluster-admin"), jane), "");
}

TEST(CertificateSteps, NeedTheRightForTheSigner) {
  AdmissionLab lab;
  for (const std::string& manifest : bootstrap_rbac()) lab.put(manifest);
  Rbac rbac(lab.store);
  const Step approval = certificate_approval(rbac), signing = certificate_signing(rbac);
  constexpr const char* kRequest =
      R"({"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"r"},"spec":{"signerName":"kubernetes.io/kubelet-serving"},"status":{"conditions":[{"type":"Approved","status":"True"}]}})";
  const kube::Object old = lab.put(
      R"({"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"r"},"spec":{"signerName":"kubernetes.io/kubelet-serving"}})");
  const kube::User jane{.name = "jane"},
      controller{.name = "system:serviceaccount:kube-system:certificate-controller"};
  EXPECT_EQ(
      refused(approval->validate(*lab.update(old, kRequest, "approval", jane)->call)),
      R"(certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kubelet-serving")");
  EXPECT_EQ(
      refused(signing->validate(*lab.update(old, kRequest, "status", jane)->call)),
      R"(certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to sign requests with signerName "kubernetes.io/kubelet-serving")");
  EXPECT_TRUE(signing->validate(*lab.update(old, kRequest, "status", controller)->call));
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"},"rules":[{"verbs":["approve"],"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["kubernetes.io/*"]}]})");
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"a"},"roleRef":{"kind":"ClusterRole","name":"a"},"subjects":[{"kind":"User","name":"jane"}]})");
  EXPECT_TRUE(approval->validate(*lab.update(old, kRequest, "approval", jane)->call));
}

}  // namespace
}  // namespace berth::apiserver
