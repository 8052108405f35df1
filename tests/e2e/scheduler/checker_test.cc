// SPDX-License-Identifier: Apache-2.0
// The checker is only worth its name if it finds what is wrong: one planted fault of every kind,
// each beside the same state without the fault.
#include "checker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kube::Object object(const std::string& json) {
  auto parsed = kube::Object::parse(json);
  EXPECT_TRUE(parsed) << parsed.error().message << "\n" << json;
  return parsed ? *parsed : kube::Object();
}

// Four nodes, two in each zone: a1 and a2 in a, b1 and b2 in b; 4 cores and 10 pods each.
kube::Object node(const std::string& name, const std::string& spec = "{}",
                  const std::string& allocatable =
                      R"({"cpu":"4","memory":"8Gi","pods":"10","example.com/gpu":"1"})") {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","topology.kubernetes.io/zone":"{1}"}}}},"spec":{2},"status":{{"allocatable":{3}}}}})",
      name, name.substr(0, 1), spec, allocatable));
}

ClusterState cluster() {
  ClusterState state;
  for (const char* name : {"a1", "a2", "b1", "b2"}) state.nodes.push_back(node(name));
  for (const char* name : {"default", "other"})
    state.namespaces.push_back(object(fmt::format(
        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{0}","labels":{{"team":"{0}"}}}}}})",
        name)));
  return state;
}

// `spec` are further members of the spec, each with a comma before it.
kube::Object pod(const std::string& name, const std::string& on, const std::string& spec = "",
                 const std::string& labels = R"("app":"x")", const std::string& ns = "default",
                 const std::string& requests = "{}") {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}","uid":"{}","labels":{{{}}}}},"spec":{{"nodeName":"{}","containers":[{{"name":"c","resources":{{"requests":{}}}}}]{}}}}})",
      name, ns, name, labels, on, requests, spec));
}
kube::Object asking(const std::string& name, const std::string& on, const std::string& requests) {
  return pod(name, on, "", R"("app":"x")", "default", requests);
}

std::vector<std::string> kinds(const ClusterState& state) {
  const Verdict verdict = check_placement(state);
  EXPECT_THAT(verdict.unchecked, IsEmpty());
  std::vector<std::string> out;
  for (const Violation& violation : verdict.violations)
    out.push_back(violation.kind + " " + violation.pod);
  return out;
}

TEST(Checker, FindsNothingInAnEmptyCluster) { EXPECT_THAT(kinds(cluster()), IsEmpty()); }

TEST(Checker, AddsUpEveryResource) {
  for (const auto& [one, other] :
       {std::pair("cpu", "2001m"), {"memory", "5Gi"}, {"example.com/gpu", "1"}}) {
    ClusterState state = cluster();
    const std::string requests = fmt::format(R"({{"{}":"{}"}})", one, other);
    state.pods.push_back(asking("p", "a1", requests));
    EXPECT_THAT(kinds(state), IsEmpty()) << one;
    state.pods.push_back(asking("q", "a1", requests));
    EXPECT_THAT(kinds(state), ElementsAre("resources default/q")) << one;
  }
}

TEST(Checker, KnowsThatAResourceNobodyHasCannotBeUsed) {
  ClusterState state = cluster();
  state.pods.push_back(asking("p", "a1", R"({"example.com/none":"1"})"));
  EXPECT_THAT(kinds(state), ElementsAre("resources default/p"));
}

TEST(Checker, CountsInitContainersSidecarsPodResourcesAndOverhead) {
  const char* const too_much[] = {
      R"(,"initContainers":[{"name":"i","resources":{"requests":{"cpu":"5"}}}])",
      R"(,"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"3"}}},{"name":"i","resources":{"requests":{"cpu":"2"}}}])",
      R"(,"resources":{"requests":{"cpu":"5"}})", R"(,"overhead":{"cpu":"5"})"};
  for (const char* spec : too_much) {
    ClusterState state = cluster();
    state.pods.push_back(pod("p", "a1", spec));
    EXPECT_THAT(kinds(state), ElementsAre("resources default/p")) << spec;
  }
  ClusterState state = cluster();
  state.pods.push_back(pod(
      "p", "a1",
      R"(,"initContainers":[{"name":"i","resources":{"requests":{"cpu":"3"}}},{"name":"j","resources":{"requests":{"cpu":"3"}}}])"));
  EXPECT_THAT(kinds(state), IsEmpty()) << "one after the other they fit";
}

TEST(Checker, CountsPods) {
  ClusterState state = cluster();
  for (int i = 0; i < 10; ++i) state.pods.push_back(pod(fmt::format("p{}", i), "a1"));
  EXPECT_THAT(kinds(state), IsEmpty());
  state.pods.push_back(pod("q", "a1"));
  EXPECT_THAT(kinds(state), ElementsAre("pods default/q"));
}

TEST(Checker, LeavesFinishedPodsOut) {
  ClusterState state = cluster();
  for (int i = 0; i < 11; ++i)
    state.pods.push_back(object(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{}","namespace":"default"}},"spec":{{"nodeName":"a1"}},"status":{{"phase":"{}"}}}})",
        i, i % 2 == 0 ? "Succeeded" : "Failed")));
  EXPECT_THAT(kinds(state), IsEmpty());
}

struct OneNodeFault {
  const char *name, *node_spec, *pod_spec, *kind;
};
void PrintTo(const OneNodeFault& fault, std::ostream* out) { *out << fault.name; }
class CheckerOneNode : public ::testing::TestWithParam<OneNodeFault> {};

TEST_P(CheckerOneNode, FindsIt) {
  ClusterState state = cluster();
  state.nodes.push_back(node("c1", GetParam().node_spec));
  state.pods.push_back(pod("p", "c1", GetParam().pod_spec));
  const std::string kind = GetParam().kind;
  if (kind.empty())
    EXPECT_THAT(kinds(state), IsEmpty());
  else
    EXPECT_THAT(kinds(state), ElementsAre(kind + " default/p"));
}

constexpr const char* kTaint = R"({"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]})";
INSTANTIATE_TEST_SUITE_P(
    Faults, CheckerOneNode,
    ::testing::Values(
        OneNodeFault{"Taint", kTaint, "", "taint"},
        OneNodeFault{"TaintNoExecute", R"({"taints":[{"key":"k","effect":"NoExecute"}]})", "",
                     "taint"},
        OneNodeFault{"TaintPreferred", R"({"taints":[{"key":"k","effect":"PreferNoSchedule"}]})",
                     "", ""},
        OneNodeFault{"TaintTolerated", kTaint,
                     R"(,"tolerations":[{"key":"k","operator":"Exists"}])", ""},
        OneNodeFault{"TaintOtherValue", kTaint, R"(,"tolerations":[{"key":"k","value":"w"}])",
                     "taint"},
        OneNodeFault{"Unschedulable", R"({"unschedulable":true})", "", "unschedulable"},
        OneNodeFault{
            "UnschedulableTolerated", R"({"unschedulable":true})",
            R"(,"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}])",
            ""},
        OneNodeFault{"NodeSelector", "{}", R"(,"nodeSelector":{"topology.kubernetes.io/zone":"a"})",
                     "node affinity"},
        OneNodeFault{"NodeSelectorMet", "{}",
                     R"(,"nodeSelector":{"topology.kubernetes.io/zone":"c"})", ""},
        OneNodeFault{
            "NodeAffinity", "{}",
            R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"NotIn","values":["c"]}]}]}}})",
            "node affinity"},
        OneNodeFault{
            "NodeAffinityByName", "{}",
            R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["c1"]}]}]}}})",
            ""},
        OneNodeFault{"Gate", "{}", R"(,"schedulingGates":[{"name":"g"}])", "gate"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Checker, MissesANode) {
  ClusterState state = cluster();
  state.pods.push_back(pod("p", "gone"));
  EXPECT_THAT(kinds(state), ElementsAre("node default/p"));
}

TEST(Checker, FindsHostPortsTakenTwice) {
  const auto with_port = [](const std::string& name, const char* on, const char* port) {
    return object(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"nodeName":"{}","containers":[{{"ports":[{}]}}]}}}})",
        name, on, port));
  };
  ClusterState state = cluster();
  state.pods = {with_port("p", "a1", R"({"hostPort":80})"),
                with_port("q", "a2", R"({"hostPort":80})"),
                with_port("r", "a1", R"({"hostPort":80,"protocol":"UDP"})"),
                with_port("s", "a1", R"({"containerPort":80})"),
                with_port("t", "b1", R"({"hostPort":80,"hostIP":"10.0.0.1"})"),
                with_port("u", "b1", R"({"hostPort":80,"hostIP":"10.0.0.2"})")};
  EXPECT_THAT(kinds(state), IsEmpty());
  state.pods.push_back(with_port("v", "a1", R"({"hostPort":80,"hostIP":"10.0.0.1"})"));
  EXPECT_THAT(kinds(state), ElementsAre("ports default/v"));
}

std::string term(const char* which, const char* app, const char* topology, const char* more = "") {
  return fmt::format(
      R"(,"affinity":{{"{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"labelSelector":{{"matchLabels":{{"app":"{}"}}}},"topologyKey":"{}"{}}}]}}}})",
      which, app, topology, more);
}
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

TEST(Checker, FindsAntiAffinityWhicheverCameFirst) {
  for (bool keeper_first : {true, false}) {
    ClusterState state = cluster();
    const kube::Object keeper =
        pod("keeper", "a1", term("podAntiAffinity", "x", kZone), R"("app":"y")");
    if (keeper_first) state.pods.push_back(keeper);
    state.pods.push_back(pod("far", "b1"));
    state.pods.push_back(pod("away", "a2", "", R"("app":"z")"));
    state.pods.push_back(pod("elsewhere", "a2", "", R"("app":"x")", "other"));
    if (!keeper_first) state.pods.push_back(keeper);
    EXPECT_THAT(kinds(state), IsEmpty());
    state.pods.push_back(pod("near", "a2"));
    EXPECT_THAT(kinds(state), ElementsAre("anti-affinity default/keeper"));
  }
}

TEST(Checker, ReadsNamespacesOfATerm) {
  for (const char* more :
       {R"(,"namespaces":["other"])", R"(,"namespaceSelector":{"matchLabels":{"team":"other"}})",
        R"(,"namespaceSelector":{})"}) {
    ClusterState state = cluster();
    state.pods = {pod("keeper", "a1", term("podAntiAffinity", "x", kZone, more), R"("app":"y")"),
                  pod("near", "a2", "", R"("app":"x")", "other")};
    EXPECT_THAT(kinds(state), ElementsAre("anti-affinity default/keeper")) << more;
  }
}

TEST(Checker, FindsAffinityWithoutCompany) {
  ClusterState state = cluster();
  state.pods = {pod("p", "a1", term("podAffinity", "db", kZone)),
                pod("db", "b1", "", R"("app":"db")")};
  EXPECT_THAT(kinds(state), ElementsAre("affinity default/p"));
  state.pods.push_back(pod("db2", "a2", "", R"("app":"db")"));
  EXPECT_THAT(kinds(state), IsEmpty());
}

TEST(Checker, LetsTheFirstOfAKindStartAnywhere) {
  ClusterState state = cluster();
  state.pods = {pod("first", "a1", term("podAffinity", "x", kHost))};
  EXPECT_THAT(kinds(state), IsEmpty());
  state.pods.push_back(pod("second", "a1", term("podAffinity", "x", kHost)));
  EXPECT_THAT(kinds(state), IsEmpty());
  state.pods.push_back(pod("third", "a2", term("podAffinity", "x", kHost)));
  EXPECT_THAT(kinds(state), ElementsAre("affinity default/third"));
}

TEST(Checker, WantsCompanyThatMeetsAllTermsAtOnce) {
  const std::string both =
      R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"m":"1"}},"topologyKey":"topology.kubernetes.io/zone"},{"labelSelector":{"matchLabels":{"n":"1"}},"topologyKey":"topology.kubernetes.io/zone"}]}})";
  ClusterState state = cluster();
  state.pods = {pod("m", "a1", "", R"("m":"1")"), pod("n", "a1", "", R"("n":"1")"),
                pod("p", "a1", both)};
  EXPECT_THAT(kinds(state), ElementsAre("affinity default/p", "affinity default/p"));
  state.pods.push_back(pod("mn", "a2", "", R"("m":"1","n":"1")"));
  EXPECT_THAT(kinds(state), IsEmpty());
}

std::string spread(const char* topology, int skew = 1, const char* more = "",
                   const char* when = "DoNotSchedule") {
  return fmt::format(
      R"(,"topologySpreadConstraints":[{{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{{"matchLabels":{{"app":"x"}}}}{}}}])",
      skew, topology, when, more);
}

TEST(Checker, FindsSkew) {
  ClusterState state = cluster();
  state.pods = {pod("p", "a1", spread(kZone)), pod("q", "b1", spread(kZone)),
                pod("r", "a2", spread(kZone))};
  EXPECT_THAT(kinds(state), IsEmpty());
  state.pods.push_back(pod("s", "a2", spread(kZone)));
  EXPECT_THAT(kinds(state), ElementsAre("spread default/p")) << "told once for the zone";
}

TEST(Checker, SpreadsOnlyOverNodesThatThePodMayUse) {
  const std::string only_a = R"(,"nodeSelector":{"topology.kubernetes.io/zone":"a"})";
  ClusterState state = cluster();
  for (int i = 0; i < 3; ++i)
    state.pods.push_back(pod(fmt::format("p{}", i), "a1", only_a + spread(kZone)));
  EXPECT_THAT(kinds(state), IsEmpty()) << "there is one zone";
  for (int i = 0; i < 3; ++i)
    state.pods[static_cast<std::size_t>(i)] =
        pod(fmt::format("p{}", i), "a1",
            only_a + spread(kZone, 1, R"(,"nodeAffinityPolicy":"Ignore")"));
  EXPECT_THAT(kinds(state), ElementsAre("spread default/p0"));
}

TEST(Checker, HonoursTaintsAndMinDomainsWhenAsked) {
  for (const auto& [more, fine] :
       {std::pair("", false), {R"(,"nodeTaintsPolicy":"Honor")", true}}) {
    ClusterState state;
    state.nodes = {node("a1"), node("b1", kTaint)};
    state.pods = {pod("p", "a1", spread(kZone, 1, more)), pod("q", "a1", spread(kZone, 1, more))};
    EXPECT_EQ(kinds(state).empty(), fine) << more;
  }
  for (const auto& [more, fine] : {std::pair("", true), {R"(,"minDomains":3)", false}}) {
    ClusterState state;
    state.nodes = {node("a1"), node("b1")};
    state.pods = {pod("p", "a1", spread(kZone, 1, more)), pod("q", "b1", spread(kZone, 1, more)),
                  pod("r", "a1", spread(kZone, 1, more)), pod("s", "b1", spread(kZone, 1, more))};
    EXPECT_EQ(kinds(state).empty(), fine) << more;
  }
}

TEST(Checker, LeavesSoftSpreadingAlone) {
  ClusterState state = cluster();
  for (int i = 0; i < 5; ++i)
    state.pods.push_back(pod(fmt::format("p{}", i), "a1", spread(kZone, 1, "", "ScheduleAnyway")));
  EXPECT_THAT(kinds(state), IsEmpty());
}

TEST(Checker, SaysWhichSpreadingAStateCannotTell) {
  ClusterState state = cluster();
  state.pods = {pod("p", "a1", spread(kZone)), pod("stranger", "a2"), pod("stranger2", "a2")};
  const Verdict verdict = check_placement(state);
  EXPECT_THAT(verdict.violations, IsEmpty());
  EXPECT_EQ(verdict.unchecked.size(), 1u) << verdict.text();
}

struct VolumeFault {
  const char *name, *volume, *claim, *kind;
};
void PrintTo(const VolumeFault& fault, std::ostream* out) { *out << fault.name; }
class CheckerVolumes : public ::testing::TestWithParam<VolumeFault> {
 protected:
  static kube::Object user(const char* name, const char* on = "a1") {
    return pod(name, on, R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])");
  }
  // `spec` closes metadata before it opens the spec.
  static kube::Object volume(const std::string& spec) {
    return object(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"v"{}}})", spec));
  }
  static kube::Object claim(const std::string& spec) {
    return object(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"c","namespace":"default","uid":"u"}},"spec":{}}})",
        spec));
  }
};

constexpr const char* kGoodVolume =
    R"(,"labels":{"topology.kubernetes.io/zone":"a__c"}},"spec":{"capacity":{"storage":"2Gi"},"claimRef":{"namespace":"default","name":"c","uid":"u"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["a1"]}]}]}}})";
constexpr const char* kGoodClaim =
    R"({"volumeName":"v","resources":{"requests":{"storage":"1Gi"}}})";

TEST_P(CheckerVolumes, FindsIt) {
  ClusterState state = cluster();
  state.volumes = {volume(GetParam().volume)};
  state.claims = {claim(GetParam().claim)};
  state.pods = {user("p")};
  const std::string kind = GetParam().kind;
  if (kind.empty())
    EXPECT_THAT(kinds(state), IsEmpty());
  else
    EXPECT_THAT(kinds(state), ElementsAre(kind + " default/p"));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, CheckerVolumes,
    ::testing::Values(
        VolumeFault{"Good", kGoodVolume, kGoodClaim, ""},
        VolumeFault{"Unbound", kGoodVolume, "{}", "claim"},
        VolumeFault{"OtherVolume", kGoodVolume, R"({"volumeName":"w"})", "claim"},
        VolumeFault{"TooSmall", kGoodVolume,
                    R"({"volumeName":"v","resources":{"requests":{"storage":"3Gi"}}})", "claim"},
        VolumeFault{
            "OfAnotherClaim",
            R"(},"spec":{"capacity":{"storage":"2Gi"},"claimRef":{"namespace":"default","name":"d"}})",
            kGoodClaim, "claim"},
        VolumeFault{
            "OfAnotherNode",
            R"(},"spec":{"capacity":{"storage":"2Gi"},"claimRef":{"namespace":"default","name":"c","uid":"u"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["a2"]}]}]}}})",
            kGoodClaim, "volume affinity"},
        VolumeFault{
            "OfAnotherZone",
            R"(,"labels":{"topology.kubernetes.io/zone":"b__c"}},"spec":{"capacity":{"storage":"2Gi"},"claimRef":{"namespace":"default","name":"c","uid":"u"}})",
            kGoodClaim, "volume zone"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(CheckerVolumes, MissesAClaim) {
  ClusterState state = cluster();
  state.pods = {user("p")};
  EXPECT_THAT(kinds(state), ElementsAre("claim default/p"));
}

TEST_F(CheckerVolumes, FindsTwoUsersOfAClaimForOne) {
  for (const auto& [mode, fine] : {std::pair("ReadWriteOnce", true), {"ReadWriteOncePod", false}}) {
    ClusterState state = cluster();
    state.volumes = {volume(
        R"(},"spec":{"capacity":{"storage":"2Gi"},"claimRef":{"namespace":"default","name":"c","uid":"u"}})")};
    state.claims = {claim(fmt::format(R"({{"volumeName":"v","accessModes":["{}"]}})", mode))};
    state.pods = {user("p"), user("q", "a2")};
    if (fine)
      EXPECT_THAT(kinds(state), IsEmpty());
    else
      EXPECT_THAT(kinds(state), ElementsAre("single user default/q"));
  }
}

TEST_F(CheckerVolumes, CountsAttachedVolumes) {
  for (int most : {1, 0}) {
    ClusterState state = cluster();
    state.volumes = {volume(
        R"(},"spec":{"capacity":{"storage":"2Gi"},"csi":{"driver":"d","volumeHandle":"h"},"claimRef":{"namespace":"default","name":"c","uid":"u"}})")};
    state.claims = {claim(kGoodClaim)};
    state.csi_nodes = {object(fmt::format(
        R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{{"name":"a1"}},"spec":{{"drivers":[{{"name":"d","allocatable":{{"count":{}}}}}]}}}})",
        most))};
    state.pods = {user("p"), user("q")};
    if (most == 1)
      EXPECT_THAT(kinds(state), IsEmpty()) << "one volume for two pods";
    else
      EXPECT_THAT(kinds(state), ElementsAre("volume limit default/q"));
  }
}

}  // namespace
}  // namespace berth::e2e
