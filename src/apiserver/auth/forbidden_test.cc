// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "apiserver/auth/allow_all.h"
#include "apiserver/auth/auth.h"

namespace berth::apiserver {
namespace {

struct Row {
  const char* name;
  const char* user;
  Attributes wants;
  const char* reason;
  const char* text;
};

class Forbidden : public testing::TestWithParam<Row> {};

TEST_P(Forbidden, IsWordedAsTheRealServerWordsIt) {
  const Row& row = GetParam();
  const Error error = forbidden({.name = row.user}, row.wants, row.reason);
  EXPECT_EQ(error.reason, Reason::kForbidden);
  EXPECT_EQ(error.message, row.text);
  EXPECT_EQ(error.about->kind, row.wants.resource);
  EXPECT_EQ(error.about->name, row.wants.name);
}

INSTANTIATE_TEST_SUITE_P(
    , Forbidden,
    testing::Values(
        Row{"AList",
            "x",
            {.verb = "list", .version = "v1", .resource = "pods", .ns = "default"},
            "",
            R"(pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default")"},
        Row{"ANamedObjectOfAGroup",
            "system:anonymous",
            {.verb = "get", .group = "apps", .resource = "deployments", .ns = "d", .name = "web"},
            "",
            R"(deployments.apps "web" is forbidden: User "system:anonymous" cannot get resource "deployments" in API group "apps" in the namespace "d")"},
        Row{"ASubresourceOfTheCluster",
            "x",
            {.verb = "patch", .resource = "nodes", .subresource = "status", .name = "n"},
            "",
            R"(nodes "n" is forbidden: User "x" cannot patch resource "nodes/status" in API group "" at the cluster scope)"},
        Row{"APath",
            "x",
            {.verb = "get", .path = "/metrics"},
            "",
            R"(forbidden: User "x" cannot get path "/metrics")"},
        Row{"NoHtml",
            "<b>&",
            {.verb = "get", .path = "/x"},
            "",
            R"(forbidden: User "&lt;b&gt;&amp;" cannot get path "/x")"},
        Row{"AReason",
            "x",
            {.verb = "get", .path = "/x"},
            "no RBAC policy matched",
            R"(forbidden: User "x" cannot get path "/x": no RBAC policy matched)"}),
    [](const auto& each) { return each.param.name; });

TEST(AllowAll, AllowsEverything) {
  EXPECT_TRUE(AllowAll().authorize({}, {.verb = "delete", .resource = "nodes"}).allowed);
}

}  // namespace
}  // namespace berth::apiserver
