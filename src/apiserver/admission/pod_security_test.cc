// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/admission_lab.h"
#include "apiserver/admission/pod_security_checks.h"

namespace berth::apiserver {
namespace {

class PodSecurityTest : public testing::Test {
 protected:
  std::unique_ptr<Trial> pod(std::string_view spec) {
    return lab.create(
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{{{}}}}})",
                    spec),
        "n");
  }
  AdmissionLab lab;
  Step step = pod_security(lab.store);
};

constexpr std::string_view kPlain = R"("containers":[{"name":"c","image":"i"}])";

TEST_F(PodSecurityTest, LeavesPodsAloneWhereNothingIsAsked) {
  lab.ns("n");
  EXPECT_TRUE(
      step->validate(*pod(R"("hostNetwork":true,"containers":[{"name":"c","image":"i"}])")->call));
}

TEST_F(PodSecurityTest, HoldsPodsToRestricted) {
  lab.ns("n", R"(,"labels":{"pod-security.kubernetes.io/enforce":"restricted"})");
  EXPECT_EQ(
      refused(step->validate(
          *pod(R"("containers":[{"name":"c","image":"i"},{"name":"d","image":"i","securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false}}])")
               ->call)),
      R"(pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers "c", "d" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or containers "c", "d" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"))");
  EXPECT_TRUE(step->validate(
      *pod(R"("securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"c","image":"i","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}])")
           ->call));
}

struct SecurityRow {
  const char* name;
  const char* spec;
  const char* detail;  // "": nothing
};
class Baseline : public PodSecurityTest, public testing::WithParamInterface<SecurityRow> {};

TEST_P(Baseline, RefusesInTheRealServersWords) {
  lab.ns("n", R"(,"labels":{"pod-security.kubernetes.io/enforce":"baseline"})");
  const std::string detail = GetParam().detail;
  EXPECT_EQ(refused(step->validate(*pod(GetParam().spec)->call)),
            detail.empty()
                ? ""
                : R"(pods "p" is forbidden: violates PodSecurity "baseline:latest": )" + detail);
}

INSTANTIATE_TEST_SUITE_P(
    , Baseline,
    testing::Values(
        SecurityRow{"Nothing", R"("containers":[{"name":"c","image":"i"}])", ""},
        SecurityRow{"HostNamespaces",
                    R"("hostNetwork":true,"hostPID":true,"containers":[{"name":"c","image":"i"}])",
                    "host namespaces (hostNetwork=true, hostPID=true)"},
        SecurityRow{
            "HostPath",
            R"("volumes":[{"name":"h","hostPath":{"path":"/"}}],"containers":[{"name":"c","image":"i"}])",
            R"(hostPath volumes (volume "h"))"},
        SecurityRow{
            "HostPort",
            R"("containers":[{"name":"c","image":"i","ports":[{"containerPort":1,"hostPort":80},{"containerPort":2,"hostPort":443}]}])",
            R"(hostPort (container "c" uses hostPorts 443, 80))"},
        SecurityRow{
            "PrivilegedAndCapable",
            R"("containers":[{"name":"c","image":"i","securityContext":{"privileged":true,"capabilities":{"add":["NET_ADMIN","CHOWN"]}}}])",
            R"(non-default capabilities (container "c" must not include "NET_ADMIN" in securityContext.capabilities.add), privileged (container "c" must not set securityContext.privileged=true))"},
        SecurityRow{
            "Unconfined",
            R"("securityContext":{"seccompProfile":{"type":"Unconfined"}},"containers":[{"name":"c","image":"i"}])",
            R"(seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"))"},
        SecurityRow{
            "Sysctls",
            R"("securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"},{"name":"net.ipv4.tcp_rmem","value":"1"}]},"containers":[{"name":"c","image":"i"}])",
            "forbidden sysctls (kernel.msgmax)"},
        SecurityRow{
            "SeLinux",
            R"("securityContext":{"seLinuxOptions":{"type":"super_t","user":"u"}},"containers":[{"name":"c","image":"i"}])",
            R"(seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "super_t"; user may not be set))"},
        SecurityRow{
            "ProbeHost",
            R"("containers":[{"name":"c","image":"i","livenessProbe":{"httpGet":{"host":"10.0.0.1","port":80}}}])",
            R"(probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1"))"},
        SecurityRow{
            "ProcMount",
            R"("containers":[{"name":"c","image":"i","securityContext":{"procMount":"Unmasked"}}])",
            R"(procMount (container "c" must not set securityContext.procMount to "Unmasked"))"},
        SecurityRow{
            "AppArmor",
            R"("containers":[{"name":"c","image":"i","securityContext":{"appArmorProfile":{"type":"Unconfined"}}}])",
            R"(forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined"))"}),
    [](const auto& each) { return each.param.name; });

TEST_F(PodSecurityTest, KnowsWhatOlderVersionsAskedFor) {
  lab.ns(
      "n",
      R"(,"labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/enforce-version":"v1.18"})");
  EXPECT_EQ(
      refused(step->validate(*pod(kPlain)->call)),
      R"(pods "p" is forbidden: violates PodSecurity "restricted:v1.18": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true))");
}

TEST_F(PodSecurityTest, WarnsOfWhatItOnlyWarnsOf) {
  lab.ns("n", R"(,"labels":{"pod-security.kubernetes.io/warn":"baseline"})");
  const auto trial = pod(R"("hostIPC":true,"containers":[{"name":"c","image":"i"}])");
  EXPECT_TRUE(step->validate(*trial->call));
  EXPECT_EQ(trial->call->warnings,
            std::vector<std::string>{
                R"(would violate PodSecurity "baseline:latest": host namespaces (hostIPC=true))"});
}

TEST_F(PodSecurityTest, WarnsThoseWhoMakeSuchPods) {
  lab.ns("n", R"(,"labels":{"pod-security.kubernetes.io/enforce":"baseline"})");
  const auto trial = lab.create(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}}}})",
      "n");
  EXPECT_TRUE(step->validate(*trial->call));
  EXPECT_EQ(trial->call->warnings,
            std::vector<std::string>{
                R"(would violate PodSecurity "baseline:latest": host namespaces (hostPID=true))"});
}

TEST_F(PodSecurityTest, LabelsOfANamespaceMustMeanSomething) {
  const auto trial = lab.create(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"psx","labels":{"pod-security.kubernetes.io/enforce":"strict"}}})");
  EXPECT_EQ(
      refused(step->validate(*trial->call)),
      R"(Namespace "psx" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted)");
}

TEST_F(PodSecurityTest, WhoRaisesTheLevelIsToldWhichPodsFallShort) {
  lab.ns("n");
  for (const std::string name : {"b", "a"})
    lab.put(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"n"}},"spec":{{"hostPID":true,"containers":[{{"name":"c","image":"i"}}]}}}})",
        name));
  const auto trial = lab.update(
      *lab.store.get(kube::kNamespace, {"", "n"}),
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"pod-security.kubernetes.io/enforce":"baseline"}}})");
  EXPECT_TRUE(step->validate(*trial->call));
  EXPECT_EQ(
      trial->call->warnings,
      (std::vector<std::string>{
          R"(existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest")",
          "a (and 1 other pod): host namespaces"}));
}

TEST_F(PodSecurityTest, AnUpdateThatBringsNoImageIsNotLookedAt) {
  lab.ns("n", R"(,"labels":{"pod-security.kubernetes.io/enforce":"restricted"})");
  const kube::Object old = lab.put(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_TRUE(step->validate(
      *lab.update(
              old,
              R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})")
           ->call));
  EXPECT_FALSE(step->validate(
      *lab.update(
              old,
              R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"other"}]}})")
           ->call));
}

}  // namespace
}  // namespace berth::apiserver
