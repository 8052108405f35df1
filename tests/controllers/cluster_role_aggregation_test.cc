// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "lab.h"

namespace berth::controllers::stories {
namespace {

std::string role(const char* name, const char* more) {
  return fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{{"name":"{}"{}}})",
      name, more);
}

TEST(ClusterRoleAggregationStory, ARoleIsTheSumOfThoseItChooses) {
  Lab lab(
      {.controllers = [] { return *make_controllers({"clusterrole-aggregation-controller"}); }});
  const auto rules = [&] {
    return std::string(lab.get(kube::kClusterRole, {"", "sum"}).member("rules").raw());
  };
  ASSERT_TRUE(lab.create(role(
      "sum",
      R"(},"rules":[],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"part":"yes"}}]})")));
  lab.run();
  EXPECT_EQ(rules(), "[]");
  constexpr const char* kRule = R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])";
  const std::string part = fmt::format(R"(,"labels":{{"part":"yes"}}}},"rules":{})", kRule);
  ASSERT_TRUE(lab.create(role("part", part.c_str())));
  ASSERT_TRUE(lab.create(
      role("other", R"(},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}])")));
  lab.run();
  EXPECT_EQ(rules(), kRule);
  ASSERT_TRUE(lab.erase(kube::kClusterRole, {"", "part"}));
  lab.run();
  EXPECT_EQ(rules(), "[]");
}

}  // namespace
}  // namespace berth::controllers::stories
