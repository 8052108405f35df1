// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/rbac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/auth/bootstrap_rbac.h"
#include "apiserver/auth/object_lab.h"

namespace berth::apiserver {
namespace {

class RbacTest : public testing::Test {
 protected:
  void cluster_role(std::string_view name, std::string_view rules, std::string_view more = "") {
    lab.put(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{{"name":"{}"{}}},"rules":[{}]}})",
        name, more, rules));
  }
  void bind(std::string_view name, std::string_view role, std::string_view subjects) {
    lab.put(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{{"name":"{}"}},"roleRef":{{"kind":"ClusterRole","name":"{}"}},"subjects":[{}]}})",
        name, role, subjects));
  }
  bool may(const kube::User& user, const Attributes& wants) {
    return rbac.authorize(user, wants).allowed;
  }

  ObjectLab lab;
  Rbac rbac{lab.store};
  kube::User jane{.name = "jane", .groups = {"dev", "system:authenticated"}};
};

struct RuleRow {
  const char* name;
  const char* rule;
  Attributes wants;
  bool allowed;
};
class RuleAllows : public testing::TestWithParam<RuleRow> {};

TEST_P(RuleAllows, AsTheRealAuthorizerDoes) {
  const PolicyRule rule = rule_from(json::Slice(GetParam().rule));
  EXPECT_EQ(allows_but_for_name(rule, GetParam().wants) && allows_name(rule, GetParam().wants.name),
            GetParam().allowed);
}

constexpr const char* kPods = R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]})";
INSTANTIATE_TEST_SUITE_P(
    , RuleAllows,
    testing::Values(
        RuleRow{"TheSame", kPods, {.verb = "get", .resource = "pods"}, true},
        RuleRow{"AnotherVerb", kPods, {.verb = "watch", .resource = "pods"}, false},
        RuleRow{"AnotherGroup", kPods, {.verb = "get", .group = "apps", .resource = "pods"}, false},
        RuleRow{"NotItsSubresource",
                kPods,
                {.verb = "get", .resource = "pods", .subresource = "log"},
                false},
        RuleRow{"ASubresource",
                R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]})",
                {.verb = "get", .resource = "pods", .subresource = "log"},
                true},
        RuleRow{"AnySubresourceOfThatName",
                R"({"verbs":["get"],"apiGroups":["*"],"resources":["*/scale"]})",
                {.verb = "get", .group = "apps", .resource = "deployments", .subresource = "scale"},
                true},
        RuleRow{
            "NotAnotherSubresource",
            R"({"verbs":["get"],"apiGroups":["*"],"resources":["*/scale"]})",
            {.verb = "get", .group = "apps", .resource = "deployments", .subresource = "grayscale"},
            false},
        // k8s 1.36: a star after the slash is no wildcard.
        RuleRow{"NoStarAfterTheSlash",
                R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/*"]})",
                {.verb = "get", .resource = "pods", .subresource = "log"},
                false},
        RuleRow{"Everything",
                R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})",
                {.verb = "x", .group = "y", .resource = "z", .subresource = "s"},
                true},
        RuleRow{"EverythingButPaths",
                R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})",
                {.verb = "get", .path = "/metrics"},
                false},
        RuleRow{"ItsName",
                R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})",
                {.verb = "get", .resource = "pods", .name = "a"},
                true},
        RuleRow{"AnotherName",
                R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})",
                {.verb = "get", .resource = "pods", .name = "b"},
                false},
        RuleRow{"APath",
                R"({"verbs":["get"],"nonResourceURLs":["/healthz"]})",
                {.verb = "get", .path = "/healthz"},
                true},
        RuleRow{"NotBelowAPath",
                R"({"verbs":["get"],"nonResourceURLs":["/healthz"]})",
                {.verb = "get", .path = "/healthz/x"},
                false},
        RuleRow{"BelowAStar",
                R"({"verbs":["get"],"nonResourceURLs":["/healthz/*"]})",
                {.verb = "get", .path = "/healthz/x"},
                true},
        RuleRow{"AllPaths",
                R"({"verbs":["*"],"nonResourceURLs":["*"]})",
                {.verb = "post", .path = "/x"},
                true}),
    [](const auto& each) { return each.param.name; });

TEST_F(RbacTest, GivesRightsByUserGroupAndAccountAndSaysWhy) {
  cluster_role("reader", kPods);
  bind(
      "b", "reader",
      R"({"kind":"User","name":"bob"},{"kind":"Group","name":"dev"},{"kind":"ServiceAccount","name":"app","namespace":"d"})");
  const Attributes wants{.verb = "get", .resource = "pods", .ns = "x"};
  EXPECT_EQ(rbac.authorize(jane, wants).reason,
            R"(RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev")");
  EXPECT_TRUE(may({.name = "bob"}, wants));
  EXPECT_EQ(
      rbac.authorize({.name = "system:serviceaccount:d:app"}, wants).reason,
      R"(RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to ServiceAccount "app/d")");
  EXPECT_FALSE(may({.name = "mallory"}, wants));
  EXPECT_EQ(rbac.authorize({.name = "mallory"}, wants).reason, "");
  EXPECT_TRUE(may({.name = "root", .groups = {"system:masters"}}, {.verb = "x", .resource = "y"}));
}

TEST_F(RbacTest, ARoleBindingCountsInItsNamespaceOnly) {
  lab.put(fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{{"name":"r","namespace":"d"}},"rules":[{}]}})",
      kPods));
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b","namespace":"d"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"jane"},{"kind":"ServiceAccount","name":"here"}]})");
  EXPECT_TRUE(may(jane, {.verb = "get", .resource = "pods", .ns = "d"}));
  EXPECT_FALSE(may(jane, {.verb = "get", .resource = "pods", .ns = "e"}));
  EXPECT_FALSE(may(jane, {.verb = "get", .resource = "pods"}));
  EXPECT_EQ(rbac.authorize({.name = "system:serviceaccount:d:here"},
                           {.verb = "get", .resource = "pods", .ns = "d"})
                .reason,
            R"(RBAC: allowed by RoleBinding "b/d" of Role "r" to ServiceAccount "here/d")");
}

TEST_F(RbacTest, SeesEveryChangeAtOnce) {
  const Attributes wants{.verb = "get", .resource = "pods", .ns = "d"};
  EXPECT_FALSE(may(jane, wants));
  cluster_role("reader", kPods);
  EXPECT_FALSE(may(jane, wants));
  bind("b", "reader", R"({"kind":"User","name":"jane"})");
  EXPECT_TRUE(may(jane, wants));
  cluster_role("reader", R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]})");
  EXPECT_FALSE(may(jane, wants));
  cluster_role("reader", kPods);
  EXPECT_TRUE(may(jane, wants));
  lab.drop(kube::kClusterRoleBinding, {"", "b"});
  EXPECT_FALSE(may(jane, wants));
}

TEST_F(RbacTest, RemembersDecisionsButNotTooMany) {
  Rbac small(lab.store, 10);
  for (int i = 0; i < 100; ++i)
    small.authorize(jane, {.verb = "get", .resource = "r" + std::to_string(i)});
  EXPECT_LE(small.remembered(), 10U);
  small.authorize(jane, {.verb = "get", .resource = "r99"});
  cluster_role("any", kPods);
  EXPECT_EQ(small.remembered(), 0U);
}

TEST_F(RbacTest, DecidesByNameWhereRulesHaveNames) {
  cluster_role("one",
               R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})");
  bind("b", "one", R"({"kind":"User","name":"jane"})");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(may(jane, {.verb = "get", .resource = "pods", .ns = "d", .name = "a"}));
    EXPECT_FALSE(may(jane, {.verb = "get", .resource = "pods", .ns = "d", .name = "b"}));
  }
  cluster_role("all", kPods);
  bind("c", "all", R"({"kind":"User","name":"jane"})");
  EXPECT_TRUE(may(jane, {.verb = "get", .resource = "pods", .ns = "d", .name = "b"}));
}

TEST_F(RbacTest, NamesTheRolesThatAreMissing) {
  bind("b", "missing", R"({"kind":"User","name":"jane"})");
  const Decision one = rbac.authorize(jane, {.verb = "list", .resource = "secrets"});
  EXPECT_FALSE(one.allowed);
  EXPECT_EQ(one.reason, R"(RBAC: clusterrole.rbac.authorization.k8s.io "missing" not found)");
  bind("c", "gone", R"({"kind":"User","name":"jane"})");
  EXPECT_EQ(
      rbac.authorize(jane, {.verb = "list", .resource = "secrets"}).reason,
      R"(RBAC: [clusterrole.rbac.authorization.k8s.io "missing" not found, clusterrole.rbac.authorization.k8s.io "gone" not found])");
}

TEST_F(RbacTest, AnAggregatingRoleHasTheRulesOfThoseItChooses) {
  cluster_role("part", kPods, R"(,"labels":{"to":"whole"})");
  lab.put(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"whole","labels":{"to":"whole"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":"whole"}}]},"rules":[]})");
  bind("b", "whole", R"({"kind":"User","name":"jane"})");
  EXPECT_TRUE(may(jane, {.verb = "list", .resource = "pods"}));
}

TEST(MissingRights, AreToldAsTheRealServerTellsThem) {
  const std::vector<PolicyRule> held = {rule_from(json::Slice(kPods))};
  const std::vector<PolicyRule> wanted = {
      rule_from(json::Slice(
          R"({"verbs":["get","watch"],"apiGroups":[""],"resources":["pods","secrets"]})")),
      rule_from(json::Slice(
          R"({"verbs":["get"],"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["b","a"]})")),
      rule_from(json::Slice(R"({"verbs":["get"],"nonResourceURLs":["/x"]})"))};
  EXPECT_EQ(rights_text(missing_rights(held, wanted)),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"watch\"]}\n"
            "{APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"a\"], "
            "Verbs:[\"get\"]}\n"
            "{APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"b\"], "
            "Verbs:[\"get\"]}\n"
            "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}");
  const PolicyRule everything{{"*"}, {"*"}, {"*"}, {}, {"*"}};
  EXPECT_TRUE(missing_rights({everything}, wanted).empty());
}

TEST_F(RbacTest, TheBootstrapRolesLetStockComponentsWork) {
  std::size_t roles = 0;
  for (const std::string& manifest : bootstrap_rbac()) {
    const kube::Object object = lab.put(manifest);
    roles += object.kind() == kube::kClusterRole || object.kind() == kube::kRole;
    EXPECT_EQ(object.label("kubernetes.io/bootstrapping"), "rbac-defaults");
  }
  EXPECT_EQ(roles, 76U);
  const kube::User scheduler{.name = "system:kube-scheduler", .groups = {"system:authenticated"}};
  EXPECT_TRUE(
      may(scheduler, {.verb = "create", .resource = "pods", .subresource = "binding", .ns = "d"}));
  EXPECT_TRUE(may(scheduler, {.verb = "update",
                              .group = "coordination.k8s.io",
                              .resource = "leases",
                              .ns = "kube-system",
                              .name = "kube-scheduler"}));
  EXPECT_FALSE(may(scheduler, {.verb = "get", .resource = "secrets", .ns = "d"}));
  EXPECT_TRUE(may(scheduler, {.verb = "get",
                              .resource = "configmaps",
                              .ns = "kube-system",
                              .name = "extension-apiserver-authentication"}));
  EXPECT_TRUE(may({.name = "system:serviceaccount:kube-system:deployment-controller"},
                  {.verb = "update",
                   .group = "apps",
                   .resource = "deployments",
                   .subresource = "status",
                   .ns = "d"}));
  const kube::User anybody{.name = "x", .groups = {"system:authenticated"}};
  EXPECT_TRUE(may(anybody, {.verb = "get", .path = "/apis/apps/v1"}));
  EXPECT_TRUE(may(
      anybody,
      {.verb = "create", .group = "authorization.k8s.io", .resource = "selfsubjectaccessreviews"}));
  EXPECT_FALSE(may(anybody, {.verb = "get", .path = "/metrics"}));
  const kube::User nobody{.name = "system:anonymous", .groups = {"system:unauthenticated"}};
  EXPECT_TRUE(may(nobody, {.verb = "get", .path = "/version"}));
  EXPECT_FALSE(may(nobody, {.verb = "get", .path = "/api"}));

  bind("eve", "edit", R"({"kind":"User","name":"eve"})");
  bind("vic", "view", R"({"kind":"User","name":"vic"})");
  bind("ada", "admin", R"({"kind":"User","name":"ada"})");
  const Attributes make{.verb = "create", .group = "apps", .resource = "deployments", .ns = "d"};
  const Attributes look{.verb = "list", .resource = "pods", .ns = "d"};
  const Attributes grant{.verb = "create",
                         .group = "rbac.authorization.k8s.io",
                         .resource = "rolebindings",
                         .ns = "d"};
  EXPECT_TRUE(may({.name = "ada"}, grant) && may({.name = "ada"}, make) &&
              may({.name = "ada"}, look));
  EXPECT_TRUE(!may({.name = "eve"}, grant) && may({.name = "eve"}, make) &&
              may({.name = "eve"}, look));
  EXPECT_TRUE(!may({.name = "vic"}, make) && may({.name = "vic"}, look));
  EXPECT_FALSE(may({.name = "vic"}, {.verb = "get", .resource = "secrets", .ns = "d"}));
}

}  // namespace
}  // namespace berth::apiserver
